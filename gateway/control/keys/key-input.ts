import { z } from 'zod';
import { maxLimit } from '../../limits/limits.ts';
import {
  byKind,
  customerFields,
  keyFields,
  scopePattern,
  type RecordFields,
} from '../../limits/record-fields.ts';
import { forAll } from '../../limits/windows.ts';
import { wholeNumber } from '../list-schemas.ts';
import { containsApiKey } from './pasted-key.ts';

const maxTextLength = 100;

/** Controls, and what changes the direction of a text or is not seen; joiners belong to scripts and emoji. */
export const hiddenCharacters = /[[\p{Cc}\p{Cf}]--[\u{200C}\u{200D}]]/gv;

/** @returns what is wrong with a text that people see, such as the name of a customer; undefined if it is valid */
export function invalidText(text: string): string | undefined {
  if (text === '' || text.length > maxTextLength || text.search(hiddenCharacters) !== -1) {
    return `has to be 1 to ${maxTextLength} characters, without control or invisible characters`;
  }
  return containsApiKey(text) ? 'must not contain an API key' : undefined;
}

/** Id of an API key: nothing that means something in a path or in a pattern of Redis. */
export const keyIdPattern = /^[\w-]{1,100}$/;

/** Name of a customer, trimmed. */
export const nameInput = z
  .string('has to be a text')
  .trim()
  .check(({ value, issues }) => {
    const message = invalidText(value);
    if (message !== undefined) issues.push({ code: 'custom', message, input: value });
  })
  .meta({ minLength: 1, maxLength: maxTextLength });

/** Time with an offset, or a date, which means its beginning in UTC. */
export const timeInput = z
  .union(
    [z.iso.datetime({ offset: true }), z.iso.date()],
    'has to be an ISO 8601 time such as 2027-01-31T12:00:00Z',
  )
  .transform((text) => new Date(text))
  .meta({ id: 'Time', description: 'Time with an offset, or a date, which means its beginning in UTC' });

const scope = z.string('has to be a scope').regex(scopePattern, 'has to be a scope such as orders:read');

/** Scopes of a key, without repetition; whether an operation needs them is for the operation to say. */
export const scopesInput = z
  .array(scope, 'has to be a list of scopes such as orders:read')
  .min(1, 'is empty: leave it out for all scopes')
  .max(50, 'are more than 50 scopes')
  .transform((scopes): readonly string[] => [...new Set(scopes)])
  .meta({ id: 'Scopes', description: 'Scopes of operations, such as orders:read' });

/** Name of a plan; whether it exists is for the operation to say. */
const planInput = z
  .string('has to be the name of a plan')
  .min(1, 'has to be the name of a plan')
  .max(maxTextLength, 'is too long to be the name of a plan')
  .refine((text) => !containsApiKey(text), 'must not contain an API key');

const ownLimit = wholeNumber(1, maxLimit)
  .nullable()
  .meta({ id: 'OwnLimit', description: 'Null for the limit of the plan' });
const ownLimits = forAll(() => ownLimit.optional());

const fieldInputs = <Of extends RecordFields>(fields: Of) =>
  byKind(fields, {
    text: ({ meaning }) => nameInput.nullish().describe(meaning),
    time: () => timeInput.nullish().describe('Null for no expiry'),
    scopes: () => scopesInput.nullish().describe('Null for all operations'),
  });

/** A customer to make. Null stands for no own limit and no text. */
export const newCustomerInput = z.strictObject({
  name: nameInput,
  plan: planInput,
  ...ownLimits,
  ...fieldInputs(customerFields),
});

const keyInputs = fieldInputs(keyFields);

/** A further key of a customer. */
export const furtherKeyInput = z.strictObject({
  name: nameInput.optional().describe("The customer's by default"),
  ...keyInputs,
});

/** The same from the customer. Fields are named, so that what operators may give is not the customers' to give. */
export const portalKeyInput = furtherKeyInput
  .pick({ expiresAt: true, scopes: true })
  .extend({ name: nameInput });

export type WithoutNulls<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], null> };

/** What an input gives: null stands for a field that is not given. */
export function withoutNulls<Fields extends object>(input: Fields): WithoutNulls<Fields>;
export function withoutNulls(input: object): object {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

/** A key to issue. Null stands for no expiry, all scopes and no own limit. */
export const newKeyInput = z.strictObject({
  name: nameInput,
  plan: planInput,
  ...keyInputs,
  ...ownLimits,
});

/** What the caller has seen of a record. */
export const seenRev = z.object({
  rev: z
    .int('has to be the "rev" that it was read with')
    .min(0)
    .describe('`rev` of the record when it was read'),
});

const oneOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** An input of which at least one field is given. */
export function changeOf<Change extends z.ZodObject>(change: Change): Change {
  return change.refine((fields) => Object.values(fields).some((value) => value !== undefined), {
    message: `there is nothing to change: give ${oneOf.format(Object.keys(change.shape))}`,
  });
}

/** A change of a key. Null removes a field; one that is absent stays as it is. */
export const keyChangeInput = changeOf(z.strictObject({ name: nameInput.optional(), ...keyInputs }));

/** A change of a customer. Null removes a field; one that is absent stays as it is. */
export const customerChangeInput = changeOf(
  z.strictObject({
    name: nameInput.optional(),
    plan: planInput.optional(),
    ...ownLimits,
    ...fieldInputs(customerFields),
  }),
);

const seconds = (min: number) => wholeNumber(min, 365 * 86_400, ' of seconds');

export const graceInput = z.strictObject({ graceSeconds: seconds(0).describe('0 ends the old key now') });

export const banInput = z.strictObject({
  seconds: seconds(1),
  /** Not a number, which is what gateways write for their own bans. */
  reason: nameInput
    .refine((text) => !/^\d+$/.test(text), 'must not be a number')
    .describe('The client reads it. Not a number.'),
});
