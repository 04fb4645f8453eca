import { z } from 'zod';
import { PetsError } from '../errors.ts';
import { petStatuses, type NewPet, type PetStatus } from './pet.ts';

const maxNameLength = 255;

/** C0, DEL and C1. */
const controlCharacters = /\p{Cc}/u;

const statusIssue = `must be one of ${petStatuses.join(', ')}`;

const status = z.enum(petStatuses, { error: statusIssue });

const newPet = z.object(
  {
    name: z
      .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
      .trim()
      .refine((name) => name !== '', 'must not be empty')
      .refine(
        (name) => Array.from(name).length <= maxNameLength,
        `must have at most ${maxNameLength} characters`,
      )
      .refine((name) => !controlCharacters.test(name), 'must not contain control characters')
      .refine((name) => name.isWellFormed(), 'must be valid Unicode'),
    categoryId: z.bigint({
      error: ({ input }) => (input === undefined ? 'is required' : 'must be a 64-bit integer'),
    }),
    status: status.default('available'),
  },
  { error: 'must be a JSON object' },
);

/** @throws PetsError invalid_request that names everything that is invalid */
function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${path[0]?.toString() ?? 'The body'} ${message}`,
  );
  throw new PetsError('invalid_request', { message: `${issues.join('; ')}.` });
}

/**
 * Parses a request body (specification section 2.2). Unknown fields are ignored, also a client's `id`.
 * @param body parsed with int64Reviver
 * @throws PetsError invalid_request
 */
export const parseNewPet = (body: unknown): NewPet => parseInput(newPet, body);

export interface PetsQuery {
  limit: number;
  status: PetStatus | undefined;
  /** Id of the last pet of the previous page. */
  afterId: bigint | undefined;
}

/** Maximum number of pets of a page. */
export const maxLimit = 100;

/** @param parse returns undefined for an invalid text */
const parameter = <T>(parse: (text: string) => T | undefined, message: string) =>
  z.string({ error: 'must be given only once' }).transform((text, context) => {
    const value = parse(text);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

const petsQuery = z.object({
  limit: parameter(parseLimit, `must be an integer from 1 to ${maxLimit}`).default(20),
  status: parameter((text) => petStatuses.find((known) => known === text), statusIssue).optional(),
  cursor: parameter(parseCursor, 'is invalid: take it from the Link header of a page').optional(),
  after: parameter((text) => (text === '0' ? 0n : parseId(text)), 'must be the id of a pet, or 0').optional(),
});

/**
 * Parses the query of listPets (specification section 4.1). Unknown parameters are ignored.
 * @throws PetsError invalid_request
 */
export function parsePetsQuery(query: unknown): PetsQuery {
  const { limit, status, cursor, after } = parseInput(petsQuery, query);
  return { limit, status, afterId: after ?? cursor };
}

function parseLimit(text: string): number | undefined {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= maxLimit ? Number(text) : undefined;
}

/** Opaque to clients: the 8 bytes of the last id, so that it works with any limit and status. */
export function formatCursor(lastId: bigint): string {
  cursorBytes.writeBigInt64BE(lastId);
  return cursorBytes.toString('base64url');
}

const cursorBytes = Buffer.alloc(8);

/** Decoding is lenient, but only the exact text of formatCursor is a cursor. */
function parseCursor(text: string): bigint | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === 8 && bytes.toString('base64url') === text ? bytes.readBigInt64BE() : undefined;
}

/** Ids are canonical decimals, so that a pet has one address. */
const canonicalId = /^[1-9]\d{0,18}$/;
const maxId = 2n ** 63n - 1n;

function parseId(text: string): bigint | undefined {
  const id = canonicalId.test(text) ? BigInt(text) : undefined;
  return id === undefined || id > maxId ? undefined : id;
}

/** @throws PetsError pet_not_found for a text that is no id */
export function parsePetId(text: string): bigint {
  const id = parseId(text);
  if (id === undefined) throw new PetsError('pet_not_found');
  return id;
}
