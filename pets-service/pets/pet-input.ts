import { z } from 'zod';
import { PetsError } from '../errors.ts';
import { petStatuses, type NewPet, type PetStatus } from './pet.ts';

const maxNameLength = 255;

/** C0, DEL and C1. */
const controlCharacters = /\p{Cc}/u;

const status = z.enum(petStatuses, { error: 'must be one of available, pending, sold' });

const optionalStatus = status.optional();

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
  throw new PetsError('invalid_request', { message: `${issues.join('; ')}.` });
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
 * @throws PetsError invalid_request that names the parameter
 */
export function parsePetsQuery(query: Readonly<Record<string, unknown>>): PetsQuery {
  const limit = single(query, 'limit');
  if (limit !== undefined && !(/^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= maxLimit)) {
    throw new PetsError('invalid_request', { message: `limit must be an integer from 1 to ${maxLimit}.` });
  }
  const wanted = single(query, 'status');
  const parsedStatus = optionalStatus.safeParse(wanted);
  if (!parsedStatus.success) {
    throw new PetsError('invalid_request', { message: 'status must be one of available, pending, sold.' });
  }
  const cursor = single(query, 'cursor');
  return {
    limit: limit === undefined ? defaultLimit : Number(limit),
    status: parsedStatus.data,
    afterId: cursor === undefined ? undefined : parseCursor(cursor),
  };
}

function single(query: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new PetsError('invalid_request', { message: `${name} must be given only once.` });
}

/** Opaque to clients: the 8 bytes of the last id, so that it works with any limit and status. */
export function formatCursor(lastId: bigint): string {
  cursorBytes.writeBigInt64BE(lastId);
  return cursorBytes.toString('base64url');
}

const cursorBytes = Buffer.alloc(8);

function parseCursor(text: string): bigint {
  const bytes = Buffer.from(text, 'base64url');
  // Decoding is lenient, but only the exact text of formatCursor is a cursor.
  if (bytes.length !== 8 || bytes.toString('base64url') !== text) {
    throw new PetsError('invalid_request', {
      message: 'cursor is invalid: take it from the Link header of a page.',
    });
  }
  return bytes.readBigInt64BE();
}

/** Ids in paths are canonical decimals, so that a pet has one address. */
const canonicalId = /^[1-9]\d{0,18}$/;
const maxId = 2n ** 63n - 1n;

/** @throws PetsError pet_not_found for a text that is no id */
export function parsePetId(text: string): bigint {
  const id = canonicalId.test(text) ? BigInt(text) : undefined;
  if (id === undefined || id > maxId) throw new PetsError('pet_not_found');
  return id;
}
