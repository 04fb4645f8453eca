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
 * Codes of Prisma, kinds of its adapters' errors (a raw query's error has the same code for every failure), codes of the
 * operating system, and SQLSTATEs of PostgreSQL (appendix A of its manual) or their classes of two characters.
 */
const codes: Record<Unavailability, string> = {
  /*
   * SQLSTATE: cancelled by statement_timeout or lock_timeout; rolled back because of another transaction; the login is
   * refused, or there is no such database; a table or a column is missing, as with P2021 and P2022: migrations are not
   * applied; a standby is read-only; too many connections, out of memory, disk full; not accepting connections yet.
   */
  refused: `P1001 P1002 P1011 P2021 P2022 P2024 P2037
    DatabaseNotReachable TlsConnectionError
    EAI_AGAIN ECONNREFUSED EHOSTUNREACH ENOTFOUND
    57014 55P03 40 28 3D000 42P01 42703 25006 53 57P03`,
  lost: `P1008 P1017 ConnectionClosed SocketTimeout ECONNRESET EPIPE ETIMEDOUT 40003 57 08`,
};

/** Messages of the driver `pg`, whose own errors have no code. */
const messages: Record<Unavailability, string> = {
  refused: `Connection terminated due to connection timeout
    timeout exceeded when trying to connect
    timeout expired`,
  lost: `Connection terminated
    Connection terminated unexpectedly
    Client has encountered a connection error and is not queryable
    Query read timeout`,
};

/** Codes and messages of a database that does not respond. */
const noResponse = new Set([
  ...'P1002 P1008 SocketTimeout EHOSTUNREACH ETIMEDOUT'.split(' '),
  'Connection terminated due to connection timeout',
  'timeout expired',
  'Query read timeout',
]);

const byCode = new Map<string, Unavailability>();
const byMessage = new Map<string, Unavailability>();
for (const unavailability of ['refused', 'lost'] as const) {
  for (const code of codes[unavailability].split(/\s+/)) byCode.set(code, unavailability);
  for (const message of messages[unavailability].split(/\n\s*/)) byMessage.set(message, unavailability);
}

const prismaError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/** Code of an error, and kind and SQLSTATE of an error of Prisma's adapter; empty if there is none. */
function codesOf(error: Error): [code: string, kind: string, sqlState: string] {
  const cause = prismaError.safeParse(error).data?.meta.driverAdapterError.cause;
  return ['code' in error ? String(error.code) : '', cause?.kind ?? '', cause?.originalCode ?? ''];
}

/**
 * Decides by codes and whole messages of the driver only, since a message may quote what a client sent.
 * @returns undefined if the error is not about the database's availability
 */
export function unavailabilityOf(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof DatabaseTimeout) return error.unavailability;
  const [code, kind, sqlState] = codesOf(error);
  const known = [code, kind, sqlState, sqlState.slice(0, 2)].find((one) => byCode.has(one));
  return byCode.get(known ?? '') ?? byMessage.get(error.message);
}

/** Whether neither the database nor the system of its server responded. */
export function isNoResponse(error: unknown): boolean {
  return error instanceof Error && [...codesOf(error), error.message].some((sign) => noResponse.has(sign));
}

/** Whether the database lacks a table, a column or a privilege (SQLSTATE class 42). */
export function isSchemaError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const [code, , sqlState] = codesOf(error);
  return error instanceof SchemaError || ['P2021', 'P2022'].includes(code) || sqlState.startsWith('42');
}
