import { z } from 'zod';

/**
 * What a failed query says about the database.
 * - refused: it can't be reached, is not ready, or cancelled the query; nothing was written
 * - lost: the connection was lost during the query; a write may have happened or not
 */
export type Unavailability = 'refused' | 'lost';

/** A limit of this service: no connection was free in time, or a request has used up its time for the database. */
export class DatabaseTimeout extends Error {
  override name = 'DatabaseTimeout';
  readonly unavailability: Unavailability;

  constructor(unavailability: Unavailability, message: string) {
    super(message);
    this.unavailability = unavailability;
  }
}

/** Prisma's error codes. */
const prismaCodes: Record<string, Unavailability> = {
  P1001: 'refused',
  P1002: 'refused',
  P1008: 'lost',
  P1011: 'refused',
  P1017: 'lost',
  // A table or a column is missing: migrations are not applied.
  P2021: 'refused',
  P2022: 'refused',
  P2024: 'refused',
  P2037: 'refused',
};

/** Kinds of errors of Prisma's adapters. The code of a raw query's error is the same for every failure. */
const adapterKinds: Record<string, Unavailability> = {
  DatabaseNotReachable: 'refused',
  TlsConnectionError: 'refused',
  ConnectionClosed: 'lost',
  SocketTimeout: 'lost',
};

/** Codes of the operating system. */
const systemCodes: Record<string, Unavailability> = {
  EAI_AGAIN: 'refused',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENOTFOUND: 'refused',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
};

/** Messages of the driver `pg`, whose own errors have no code. */
const driverMessages: Record<string, Unavailability> = {
  'Connection terminated due to connection timeout': 'refused',
  'timeout exceeded when trying to connect': 'refused',
  'timeout expired': 'refused',
  'Connection terminated': 'lost',
  'Connection terminated unexpectedly': 'lost',
  'Client has encountered a connection error and is not queryable': 'lost',
  'Query read timeout': 'lost',
};

/** Codes, kinds and messages of a database that does not respond. */
const noResponse = new Set([
  'P1002',
  'P1008',
  'SocketTimeout',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'Connection terminated due to connection timeout',
  'timeout expired',
  'Query read timeout',
]);

/** SQLSTATE of PostgreSQL (appendix A of its manual), by code or by its class of two characters. */
const sqlStates: Record<string, Unavailability> = {
  // Cancelled by statement_timeout or lock_timeout, and rolled back.
  '57014': 'refused',
  '55P03': 'refused',
  // Rolled back because of another transaction.
  '40': 'refused',
  '40003': 'lost',
  // The login is refused, or there is no such database.
  '28': 'refused',
  '3D000': 'refused',
  // A table or a column is missing: migrations are not applied.
  '42P01': 'refused',
  '42703': 'refused',
  // The server is read-only, such as a standby before it is promoted.
  '25006': 'refused',
  // Too many connections, out of memory, disk full.
  '53': 'refused',
  // Not accepting connections yet.
  '57P03': 'refused',
  '57': 'lost',
  '08': 'lost',
};

const prismaError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/**
 * Decides by codes only, since a message may quote what a client sent.
 * @returns undefined if the error is not about the database's availability
 */
export function unavailabilityOf(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof DatabaseTimeout) return error.unavailability;
  const code = 'code' in error ? String(error.code) : '';
  const { kind, sqlState } = adapterError(error);
  return (
    lookUp(prismaCodes, code) ??
    lookUp(adapterKinds, kind) ??
    lookUp(systemCodes, code) ??
    lookUp(sqlStates, sqlState) ??
    lookUp(sqlStates, sqlState.slice(0, 2)) ??
    lookUp(driverMessages, error.message)
  );
}

/** Whether neither the database nor the system of its server responded. */
export function isNoResponse(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  const signs = [code, adapterError(error).kind, error.message];
  return signs.some((sign) => noResponse.has(sign));
}

/** Whether PostgreSQL refused the statement, for example because of its content. Nothing was written. */
export function isStatementRefused(error: unknown): boolean {
  return adapterError(error).sqlState !== '' && unavailabilityOf(error) === undefined;
}

/** The database lacks something that this version needs. The message says what. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/** Whether the database lacks a table, a column or a privilege (SQLSTATE class 42). */
export function isSchemaError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isMissing = 'code' in error && (error.code === 'P2021' || error.code === 'P2022');
  return isMissing || error instanceof SchemaError || adapterError(error).sqlState.startsWith('42');
}

/** Kind and SQLSTATE of an error of Prisma's adapter; empty for other errors. */
function adapterError(error: unknown): { kind: string; sqlState: string } {
  const cause = prismaError.safeParse(error).data?.meta.driverAdapterError.cause;
  return { kind: cause?.kind ?? '', sqlState: cause?.originalCode ?? '' };
}

function lookUp(table: Record<string, Unavailability>, key: string): Unavailability | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
