import { isUtf8 } from 'node:buffer';
import { Big } from 'big.js';
import { z } from 'zod';
import { PetsError } from '../errors.ts';

/** Specification section 2.1. */
export const petStatuses = ['available', 'pending', 'sold'] as const;

const petStatus = z.enum(petStatuses, { error: `must be one of ${petStatuses.join(', ')}` });

/** Specification section 2.2. Unknown fields are removed, also a client's `id`. */
const newPet = z.object(
  {
    name: z
      .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
      .trim()
      .refine((name) => name !== '', 'must not be empty')
      .regex(/^.{0,255}$/su, 'must have at most 255 characters')
      .regex(/^\P{Cc}*$/u, 'must not contain control characters')
      .refine((name) => name.isWellFormed(), 'must be valid Unicode'),
    categoryId: z.bigint({
      error: ({ input }) => (input === undefined ? 'is required' : 'must be a 64-bit integer'),
    }),
    status: petStatus.default('available'),
  },
  { error: 'must be a JSON object' },
);

export type NewPet = z.infer<typeof newPet>;

/** Specification section 2.3. */
export interface Pet extends NewPet {
  id: bigint;
}

/** The pet for JSON.stringify, with exact integers. */
export function petJson({ id, name, categoryId, status }: Pet) {
  return { id: int64Json(id), name, categoryId: int64Json(categoryId), status };
}

/** @throws PetsError invalid_request that names everything that is invalid */
function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const texts = parsed.error.issues.map(({ path, message }) => `${String(path[0] ?? 'The body')} ${message}`);
  throw new PetsError('invalid_request', { message: `${texts.join('; ')}.` });
}

/** @param body parsed with int64Reviver @throws PetsError invalid_request */
export const parseNewPet = (body: unknown): NewPet => parseInput(newPet, body);

/** Maximum number of pets of a page. */
const maxLimit = 100;

const once = z.string({ error: 'must be given only once' });

const afterIssue = 'must be the id of a pet, or 0';
const limitIssue = `must be an integer from 1 to ${maxLimit}`;

const petsQuery = z.object({
  limit: once
    .regex(/^[1-9]\d*$/, limitIssue)
    .transform(Number)
    .pipe(z.number().max(maxLimit, limitIssue))
    .default(20),
  status: once.pipe(petStatus).optional(),
  // Canonical base64url of 8 bytes: the last digit has 4 bits.
  cursor: once
    .regex(/^[\w-]{10}[AEIMQUYcgkosw048]$/, 'is invalid: take it from the Link header of a page')
    .transform((text) => Buffer.from(text, 'base64url').readBigInt64BE())
    .optional(),
  after: once
    .regex(/^(?:0|[1-9]\d{0,18})$/, afterIssue)
    .transform(BigInt)
    .pipe(z.int64(afterIssue))
    .optional(),
});

export type PetsQuery = ReturnType<typeof parsePetsQuery>;

/**
 * Parses the query of listPets (specification section 4.1). Unknown parameters are ignored.
 * @returns with the id of the last pet of the previous page as `afterId`
 * @throws PetsError invalid_request
 */
export function parsePetsQuery(query: unknown) {
  const { cursor, after = cursor, ...rest } = parseInput(petsQuery, query);
  return { ...rest, afterId: after };
}

/** Opaque to clients: the 8 bytes of the last id, so that it works with any limit and status. */
export function formatCursor(lastId: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(lastId);
  return bytes.toString('base64url');
}

/** Ids are canonical decimals, so that a pet has one address. @throws PetsError pet_not_found for a text that is no id */
export function parsePetId(text: string): bigint {
  const id = /^[1-9]\d{0,18}$/.test(text) ? BigInt(text) : undefined;
  if (id === undefined || id !== BigInt.asIntN(64, id)) throw new PetsError('pet_not_found');
  return id;
}

/**
 * Parses Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07, section 2). It is the same key with and without
 * quotes, which many clients do not send.
 * @param values of all headers of this name
 * @throws PetsError invalid_request
 */
export function parseIdempotencyKey(values: readonly string[] | undefined): string | undefined {
  if (values === undefined) return undefined;
  const [value = '', ...more] = values;
  // A comma without quotes joins repeated headers.
  const pattern = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}))$/;
  const [, quoted, bare] = pattern.exec(value) ?? [];
  const key = quoted ?? bare;
  if (more.length === 0 && key !== undefined) return key;
  throw new PetsError('invalid_request', {
    message:
      'Idempotency-Key must be given once, as 1 to 255 ASCII characters other than quotes and backslashes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".',
  });
}

/*
 * int64 over its whole range. A JavaScript number is exact up to 2^53 only, but JSON.parse passes the source text of each
 * number to the reviver, and JSON.rawJSON writes a text unchanged.
 */
declare global {
  // ECMAScript's JSON.parse source text access, which TypeScript's library does not declare yet.
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

const int64Limit = 2n ** 63n;

/** Reviver for JSON.parse: a number becomes a bigint if it is an int64 by value, as 1.0 and 1e3 are. */
export function int64Reviver(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const number = new Big(context.source);
  // Compared first: as an integer, 1e999999 would be a megabyte.
  if (number.abs().gt(int64Limit) || !number.eq(number.round())) return value;
  const integer = BigInt(number.toFixed());
  return BigInt.asIntN(64, integer) === integer ? integer : value;
}

/** The integer for JSON.stringify. A replacer, which would be called for each value, would make a page take four times as long. */
export const int64Json = (value: bigint): unknown => JSON.rawJSON(String(value));

/** Far more values than a pet has. The reviver is called for each: a megabyte of them would block the process for half a second. */
const maxValues = 10_000;

/** Refuses a body before body-parser decodes it, which would replace invalid bytes, and parses it. */
export function verifyJson(_req: unknown, _res: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new PetsError('unsupported_media_type');
  if (!isUtf8(body)) throw new PetsError('invalid_json', { message: 'The request body is not valid UTF-8.' });
  const withoutStrings = body.toString().replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"?/gs, '');
  if (withoutStrings.split(/[[{,]/, maxValues + 2).length <= maxValues + 1) return;
  throw new PetsError('invalid_request', { message: 'The request body has more than 10,000 values.' });
}
