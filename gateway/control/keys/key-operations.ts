import { z } from 'zod';
import { defaultGraceSeconds, graceLengths } from '../../limits/lengths.ts';
import { keptWords, keyFields } from '../../limits/record-fields.ts';
import { byWindow, hasWindow } from '../../limits/windows.ts';
import { customerIdPattern, redisKeys } from '../../platform/redis/redis-keys.ts';
import { windowTexts } from '../customers/customer-limits.ts';
import { newLimitOptions } from '../customers/customer-operations.ts';
import { showCustomer } from '../customers/stored-customers.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { countInput, listOf, nextInput } from '../list-schemas.ts';
import { change, changeAndShow, list, read } from '../operation.ts';
import { assertPlanName } from '../plans/plan-names.ts';
import { readPlans, storedLimitsSchema, type Plan } from '../plans/plans.ts';
import { formFields, type MadeSecret } from '../question.ts';
import { columnsOf, csvOf, fieldOptions } from '../records.ts';
import { allFound, readFoundPage } from '../scored-pages.ts';
import type { Session } from '../session.ts';
import { findKeyId, findMeantKey, keyConditions, keyPageSchema, searchKeys } from './find-keys.ts';
import {
  furtherKeyInput,
  graceInput,
  keyChangeInput,
  newKeyInput,
  seenRev,
  withoutNulls,
} from './key-input.ts';
import {
  keyDetailSchema,
  keyRowSchema,
  keyViewSchema,
  readKeyDetail,
  recordView,
  type KeyDetail,
  type KeyView,
} from './key-view.ts';
import { changeKey, issueFurtherKey, issueKey, revokeKey, rotateKey, type IssuedApiKey } from './keys.ts';
import { showStoredKey } from './stored-keys.ts';

/** A page takes half a second at most, whatever the filter: the console goes on with `next`. */
const maxRead = 10_000;
const maxPastedLength = 10_000;
const id = 'key_282dd48c706990d481';

export const keyPlanSchema = z.object({
  name: z.string(),
  ...storedLimitsSchema.shape,
  needsOwnLimits: z.boolean().describe('Keys on it need a limit of their own'),
});

export const issuedKeySchema = keyViewSchema.extend({
  key: z.string().describe('In this response only'),
});

/** Response of an operation that issues a key. */
const issued = {
  responds: 'The key, which is in this response only, with its record',
  result: issuedKeySchema,
  status: 201,
};

const secret: MadeSecret = {
  field: 'key',
  label: 'API key',
  about: 'The key of {name} works now. Only its hash is stored.',
};

/** Says of a key that may call everything that it may. */
const prints = (view: KeyView) => ({ ...view, scopes: view.scopes ?? 'all' });

function viewIssued({ key, record }: IssuedApiKey, { now }: Session): z.infer<typeof issuedKeySchema> {
  const { id, ...rest } = recordView(record, now());
  return { id, key, ...rest };
}

/** Response of an operation that changes a key. */
export const keyShown = {
  responds: 'The key after the change',
  result: keyDetailSchema,
  resultId: 'ChangedKey',
  shows: readKeyDetail,
};

const keyOptions = { name: { says: 'name of the key' }, ...fieldOptions(keyFields) };

const csvOrder =
  'id customerId plan name hint state createdAt expiresAt scopes revokedAt replaces replacedBy rev bannedUntil lastUsedAt servedToday refusedToday';

/** API keys of customers. */
export const keyOperations = [
  list({
    operationId: 'listKeys',
    http: 'GET /keys',
    command: {
      usage: 'keys list',
      says: 'keys, oldest first; with several conditions, those that meet all of them',
      examples: [
        'keys list --search acme',
        'keys list --plan free --unused-since 90d --output csv > unused.csv',
        'keys list --state active --expires-before 30d',
      ],
      options: {
        state: { flags: '--state <state>' },
        expiresBefore: {
          flags: '--expires-before <time>',
          says: 'keys that expire before a time, ISO 8601, or within a duration such as 30d',
          from: 'time',
        },
        unusedSince: {
          flags: '--unused-since <time>',
          says: 'keys last used before a time, ISO 8601, or a duration ago such as 90d, or never',
          from: 'time ago',
        },
      },
      columns: {
        ID: 'id',
        KEY: 'hint',
        NAME: 'name',
        PLAN: 'plan',
        STATE: 'state',
        CREATED: 'createdAt',
        ...columnsOf(keyFields),
        'LAST USED': 'lastUsedAt',
      },
      csv: csvOf(keyRowSchema.keyof().options, csvOrder),
    },
    summary: 'API keys, newest first; with several conditions, those that meet all of them',
    description:
      `Reads some ${maxRead.toLocaleString('en')} keys at most. A page may therefore have fewer items than its limit, or ` +
      'none, although there are more: go on with `next` until it is null.',
    input: keyConditions.extend({ after: nextInput.optional(), limit: countInput(100, 50) }),
    responds: 'A page of keys',
    result: keyPageSchema,
    async run(session, { input }) {
      await assertPlanName(session.redis, input.plan);
      return allFound(session.redis, await searchKeys(session, input));
    },
    async page(session, { input: { after, limit: size, ...conditions } }) {
      const total = await session.redis.zcard(redisKeys.apiKeysByCreation);
      const search = await searchKeys(session, conditions);
      return { ...(await readFoundPage(session.redis, search, { after, size, maxRead })), total };
    },
  }),
  // Of the command, which makes either: the API has a route for each.
  change({
    operationId: 'issueAnyKey',
    audits: 'issued the key',
    command: {
      usage: 'keys issue',
      examples: [
        'keys issue --plan free --name Acme',
        'keys issue --customer cus_282dd48c706990d481 --name "Acme, mobile app"',
        'keys issue --plan enterprise --name Acme --minute 5000 --day 1000000',
      ],
      options: {
        ...keyOptions,
        ...newLimitOptions,
        name: { says: 'name of the customer, or of its further key' },
        customer: {
          flags: '--customer <customer>',
          says: 'a further key of this customer, which shares its plan and limits',
        },
      },
      prints,
    },
    summary: 'Issue a key with a customer of its own, or of one that exists; it is shown once and not stored',
    input: newKeyInput.partial().extend({
      customer: z
        .string()
        .regex(customerIdPattern, 'is not the id of a customer, such as cus_282dd48c706990d481')
        .optional(),
    }),
    ...issued,
    async run(session, { input }) {
      const { customer, plan, name, ...rest } = withoutNulls(input);
      if (customer === undefined) {
        if (plan === undefined || name === undefined)
          throw new InvalidOperation('a key with a customer of its own needs --plan and --name');
        return viewIssued(await issueKey(session, { ...rest, plan, name }), session);
      }
      if (plan !== undefined || hasWindow(rest))
        throw new InvalidOperation('plan and limits are those of the customer: see ops customers set');
      const { id } = await showCustomer(session.redis, customer);
      return viewIssued(await issueFurtherKey(session, id, { ...rest, name }), session);
    },
  }),
  change({
    operationId: 'issueKey',
    http: 'POST /keys',
    asks: {
      offer: 'New customer…',
      heading: 'New customer with a key',
      action: 'Issue the key',
      fields: { name: { label: 'Name of the customer' }, ...formFields(keyFields) },
      secret,
    },
    summary: 'Issue a key',
    input: newKeyInput,
    example: { name: 'Acme', plan: 'pro' },
    ...issued,
    run: async (session, { input }) => viewIssued(await issueKey(session, withoutNulls(input)), session),
  }),
  change({
    operationId: 'issueFurtherKey',
    http: 'POST /customers/:customer/keys',
    noun: 'keys',
    asks: {
      offer: 'New key…',
      tone: 'primary',
      heading: 'New key of {name}',
      action: 'Issue the key',
      text: "It shares the customer's plan, limits and what is used of them.",
      fields: { name: { label: 'Name of the key', placeholder: '{name}' }, ...formFields(keyFields) },
      secret,
    },
    summary: 'Issue a further key of a customer, which shares its plan and limits',
    input: furtherKeyInput,
    ...issued,
    async run(session, { target, input }) {
      const { id } = await showCustomer(session.redis, target);
      return viewIssued(await issueFurtherKey(session, id, withoutNulls(input)), session);
    },
  }),
  read({
    operationId: 'findKey',
    http: 'POST /keys/find',
    access: 'viewer',
    summary: 'Find a key by the key itself',
    description: 'A viewer may do this. The key is neither stored nor logged.',
    input: z.strictObject({
      text: z
        .string('has to be a text')
        .max(maxPastedLength, `is longer than ${maxPastedLength} characters`)
        .describe('An API key or the SHA-256 of one, also in the middle of a text'),
    }),
    responds: 'The id of the key',
    result: z.object({ id: z.string() }),
    run: async (session, { input: { text } }) => ({ id: await findKeyId(text, session) }),
  }),
  // For forms, which must not begin a count of all keys, as GET /api/plans does.
  list({
    operationId: 'listKeyPlans',
    http: 'GET /key-plans',
    noun: 'plans',
    summary: 'Plans that a key can be on, with their limits in Redis',
    responds: 'All of them',
    result: listOf(keyPlanSchema),
    async run(session) {
      const plans = await readPlans(session);
      return plans.filter(({ kind }) => kind !== 'address').map(viewKeyPlan);
    },
  }),
  read({
    operationId: 'getKey',
    http: 'GET /keys/:id',
    command: {
      usage: 'keys show [key]',
      says: 'one key, with its use, strikes and ban',
      examples: [`keys show ${id}`, 'keys show api_GQ4x'],
      argument: {
        says: 'id, SHA-256, or hint such as api_ab12; without it, the key itself is read from standard input',
        find: findMeantKey,
        findSecret: findKeyId,
      },
      prints: ({ windows, ban, strikes, strikesToBan, now: _now, ...view }: KeyDetail) => ({
        ...view,
        scopes: view.scopes ?? 'all',
        ...windowTexts(windows),
        strikes:
          strikesToBan === null
            ? `${strikes}; the ban policy is off or invalid, see: ops policy show`
            : `${strikes} of ${strikesToBan}`,
        ban: ban && `${ban.reason}; ends at ${ban.endsAt}`,
      }),
    },
    summary: 'One key, with its use now',
    responds: 'The key',
    result: keyDetailSchema,
    run: (session, { target }) => readKeyDetail(session, target),
  }),
  changeAndShow({
    operationId: 'changeKey',
    http: 'PATCH /keys/:id',
    audits: 'changed the key',
    asks: {
      offer: 'Change…',
      states: ['active', 'suspended', 'banned', 'expired'],
      heading: 'Change {name}',
      action: `Save ${keptWords(keyFields)}`,
      text: 'Without a time the key does not expire; without scopes it may call all operations.',
      fields: { name: { label: 'Name' }, ...formFields(keyFields) },
      done: 'The key is changed',
    },
    command: {
      usage: 'keys set <id>',
      examples: [
        `keys set ${id} --name "Acme, mobile app"`,
        `keys set ${id} --expires 90d --reason "trial goes on, ticket 814"`,
        `keys set ${id} --scopes all`,
      ],
      options: keyOptions,
      prints,
    },
    summary: 'Change a key, from its next request on',
    description:
      'Fields that are absent stay as they are. Plan and limits are those of its customer. 409 if somebody else has changed the key, its customer or another of its keys since `rev`.',
    input: keyChangeInput,
    seen: seenRev,
    ...keyShown,
    run: async (session, { target, input, seen }) =>
      recordView(await changeKey(session, target, { ...input, ...seen }), session.now()),
  }),
  change({
    operationId: 'rotateKey',
    http: 'POST /keys/:id/rotate',
    audits: 'rotated the key',
    asks: {
      offer: 'Rotate…',
      states: ['active', 'banned'],
      heading: 'Rotate the key of {name}',
      text: `A new key takes over the ${keptWords(keyFields)}. Plan, limits and what is used of them are the customer's.`,
      fields: {
        graceSeconds: {
          label: 'The old key (if it has leaked, choose: ends now)',
          choices: graceLengths,
          chosen: defaultGraceSeconds,
        },
      },
      secret,
    },
    command: {
      usage: 'keys rotate <id>',
      examples: [`keys rotate ${id} --grace 7d`, `keys rotate ${id} --grace 0s`],
      options: {
        graceSeconds: {
          flags: '--grace <duration>',
          says: 'time that the old key still works; 0s ends it now',
          from: 'duration',
          default: '24h',
        },
      },
      prints,
    },
    summary: 'Issue a key that replaces another one, which works until the grace period ends',
    input: graceInput,
    ...issued,
    run: async (session, { target, input }) =>
      viewIssued(await rotateKey(session, target, input.graceSeconds * 1000), session),
  }),
  // No rev: to revoke is right whatever else has changed, and doing it twice changes nothing.
  changeAndShow({
    operationId: 'revokeKey',
    http: 'POST /keys/:id/revoke',
    audits: 'revoked the key',
    asks: {
      offer: 'Revoke…',
      tone: 'danger',
      states: ['active', 'suspended', 'banned', 'expired'],
      heading: 'Revoke the key of {name}?',
      text: 'From its next request on, the key is refused with 401, for good. A revoked key cannot be restored.',
      done: 'The key is revoked: its requests are refused from now on',
    },
    command: {
      usage: 'keys revoke <id>',
      says: 'refuse a key for good, from its next request on',
      examples: [`keys revoke ${id} --reason "leaked, ticket 812"`],
      prints,
      async asks({ redis }, id) {
        const { name, plan, revokedAt } = (await showStoredKey(redis, id)).record;
        if (revokedAt !== undefined) return undefined;
        return `Revoke ${id} (${JSON.stringify(name)}, plan ${plan}) for good, from its next request on?`;
      },
    },
    summary: 'Refuse a key for good, from its next request on',
    ...keyShown,
    run: async (session, { target }) => recordView(await revokeKey(session, target), session.now()),
  }),
];

function viewKeyPlan({ name, kind, ...plan }: Plan): z.infer<typeof keyPlanSchema> {
  return { name, ...byWindow((window) => plan[window]), needsOwnLimits: kind === 'own_limits' };
}
