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

/**
 * Parses a request body (specification section 2.2). Unknown fields are ignored, also a client's `id`.
 * @param body parsed with int64Reviver
 * @throws PetsError invalid_request that names every invalid field
 */
export function parseNewPet(body: unknown): NewPet {
  const parsed = newPet.safeParse(body);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${path[0]?.toString() ?? 'The body'} ${message}`,
  );
  throw invalidRequest(issues);
}

function invalidRequest(issues: readonly string[]): PetsError {
  return new PetsError('invalid_request', { message: `${issues.join('; ')}.` });
}

export interface PetsQuery {
  limit: number;
  status: PetStatus | undefined;
  /** Id of the last pet of the previous page. */
  afterId: bigint | undefined;
}

const defaultLimit = 20;
/** Maximum number of pets of a page. */
export const maxLimit = 100;

/**
 * Parses the query of listPets (specification section 4.1). Unknown parameters are ignored.
 * @throws PetsError invalid_request that names every invalid parameter
 */
export function parsePetsQuery(query: Readonly<Record<string, unknown>>): PetsQuery {
  const issues: string[] = [];

  /** @returns undefined if the parameter is absent or invalid */
  function read<T>(name: string, parse: (text: string) => T | undefined, issue: string): T | undefined {
    const value = query[name];
    if (value === undefined) return undefined;
    const parsed = typeof value === 'string' ? parse(value) : undefined;
    if (parsed === undefined) {
      issues.push(typeof value === 'string' ? `${name} ${issue}` : `${name} must be given only once`);
    }
    return parsed;
  }

  const limit = read('limit', parseLimit, `must be an integer from 1 to ${maxLimit}`) ?? defaultLimit;
  const wanted = read('status', (text) => petStatuses.find((known) => known === text), statusIssue);
  const cursorId = read('cursor', parseCursor, 'is invalid: take it from the Link header of a page');
  const afterId = read('after', parseAfter, 'must be the id of a pet, or 0') ?? cursorId;
  if (issues.length > 0) throw invalidRequest(issues);
  return { limit, status: wanted, afterId };
}

function parseLimit(text: string): number | undefined {
  return /^[1-9]\d{0,2}$/.test(text) && Number(text) <= maxLimit ? Number(text) : undefined;
}

function parseAfter(text: string): bigint | undefined {
  return text === '0' ? 0n : parseId(text);
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
