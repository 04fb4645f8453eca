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

/** The database lacks something that this version needs. The message says what. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/**
 * Signs of an error: codes of Prisma, kinds of its adapters' errors (a raw query's error has the same code for every
 * failure), codes of the operating system, SQLSTATEs of PostgreSQL (appendix A of its manual) or their classes of two
 * characters, and messages of the driver `pg`, whose own errors have no code.
 */
const signs = (list: string): ReadonlySet<string> => new Set(list.split(/,\s+/));

/*
 * SQLSTATE: cancelled by statement_timeout or lock_timeout; rolled back because of another transaction; the login is
 * refused, or there is no such database; a table or a column is missing, as with P2021 and P2022: migrations are not
 * applied; a standby is read-only; too many connections, out of memory, disk full; not accepting connections yet.
 */
const refused =
  signs(`P1001, P1002, P1011, P2021, P2022, P2024, P2037, DatabaseNotReachable, TlsConnectionError,
  EAI_AGAIN, ECONNREFUSED, EHOSTUNREACH, ENOTFOUND,
  57014, 55P03, 40, 28, 3D000, 42P01, 42703, 25006, 53, 57P03,
  Connection terminated due to connection timeout, timeout exceeded when trying to connect, timeout expired`);

const lost =
  signs(`P1008, P1017, ConnectionClosed, SocketTimeout, ECONNRESET, EPIPE, ETIMEDOUT, 40003, 57, 08,
  Connection terminated, Connection terminated unexpectedly, Query read timeout,
  Client has encountered a connection error and is not queryable`);

/** Signs of a database that does not respond. */
const noResponse = signs(`P1002, P1008, SocketTimeout, EHOSTUNREACH, ETIMEDOUT,
  Connection terminated due to connection timeout, timeout expired, Query read timeout`);

const prismaError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/** Whole messages only, since a message may quote what a client sent. A sign that an error does not have is empty. */
function signsOf(error: Error) {
  const cause = prismaError.safeParse(error).data?.meta.driverAdapterError.cause;
  const sqlState = cause?.originalCode ?? '';
  const code = 'code' in error ? String(error.code) : '';
  return { code, kind: cause?.kind ?? '', sqlState, sqlClass: sqlState.slice(0, 2), message: error.message };
}

/** @returns undefined if the error is not about the database's availability */
export function unavailabilityOf(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof DatabaseTimeout) return error.unavailability;
  const known = Object.values(signsOf(error)).find((sign) => refused.has(sign) || lost.has(sign)) ?? '';
  return refused.has(known) ? 'refused' : lost.has(known) ? 'lost' : undefined;
}

/** Whether neither the database nor the system of its server responded. */
export function isNoResponse(error: unknown): boolean {
  return error instanceof Error && Object.values(signsOf(error)).some((sign) => noResponse.has(sign));
}

/** Whether the database lacks a table, a column or a privilege (SQLSTATE class 42). */
export function isSchemaError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, sqlClass } = signsOf(error);
  return error instanceof SchemaError || ['P2021', 'P2022'].includes(code) || sqlClass === '42';
}
