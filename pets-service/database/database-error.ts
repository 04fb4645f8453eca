import { z } from 'zod';

/**
 * What a failed query says about the database.
 * - refused: it can't be reached, is not ready, or cancelled the query; nothing was written
 * - lost: the connection was lost during the query; a write may have happened or not
 */
export type Unavailability = 'refused' | 'lost';

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
  signs(`P1001, P1002, P1011, P2021, P2022, P2024, P2034, P2037, DatabaseNotReachable, TlsConnectionError,
  EAI_AGAIN, ECONNREFUSED, EHOSTUNREACH, ENOTFOUND,
  57014, 55P03, 40001, 40P01, 28, 3D000, 42P01, 42703, 25006, 53, 57P03,
  Connection terminated due to connection timeout, timeout exceeded when trying to connect, timeout expired,
  Transaction API error: Unable to start a transaction in the given time.`);

/* P2028: the time of a transaction is over. */
const lost =
  signs(`P1008, P1017, P2028, ConnectionClosed, SocketTimeout, ECONNRESET, EPIPE, ETIMEDOUT, 40003, 57, 08,
  Connection terminated, Connection terminated unexpectedly, Query read timeout,
  Client has encountered a connection error and is not queryable`);

const adapterError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/** Whole messages only, since a message may quote what a client sent. */
function has(error: unknown, list: ReadonlySet<string>): boolean {
  if (!(error instanceof Error)) return false;
  const { kind = '', originalCode = '' } =
    adapterError.safeParse(error).data?.meta.driverAdapterError.cause ?? {};
  const code = 'code' in error ? String(error.code) : '';
  return [code, kind, originalCode, originalCode.slice(0, 2), error.message].some((sign) => list.has(sign));
}

/** @returns undefined if the error is not about the database's availability */
export function unavailabilityOf(error: unknown): Unavailability | undefined {
  return has(error, refused) ? 'refused' : has(error, lost) ? 'lost' : undefined;
}
