import { PrismaPg } from '@prisma/adapter-pg';
import {
  isDriverAdapterError,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import type { Config } from '../config.ts';
import { Prisma } from '../generated/prisma/client.ts';

type DatabaseSettings = Pick<Config, 'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'DATA_DIR'>;

/** Reads have connections of their own, so that creates that wait for a lock do not block them. */
export type DatabasePools = Record<'reads' | 'writes', SqlMigrationAwareDriverAdapterFactory>;

/**
 * Opens PostgreSQL, or the one that is embedded in this process, with the same schema, migrations and SQL.
 * @returns its pools, which are one if it has one connection only, how to close it, and one line for people: what runs, and
 * where the data is
 */
export async function openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE, DATA_DIR }: DatabaseSettings) {
  if (url === undefined) {
    const { openEmbedded } = await import('../../prisma/embedded-postgres.ts').catch((error: unknown) => {
      // Production installations omit its packages.
      const message =
        'DATABASE_URL is not set, and the embedded PostgreSQL is not installed: set DATABASE_URL';
      throw new Error(message, { cause: error });
    });
    const { adapter, ...embedded } = await openEmbedded(DATA_DIR);
    return { ...embedded, reads: adapter, writes: adapter };
  }
  const { host, pathname } = new URL(url);
  // Writes get the larger half.
  const readSize = Math.floor(DATABASE_POOL_SIZE / 2);
  const writes = openPool(url, DATABASE_POOL_SIZE - readSize);
  const reads = readSize === 0 ? writes : openPool(url, readSize);
  return { reads, writes, description: `PostgreSQL at ${host}${pathname}`, close: async () => {} };
}

/** PostgreSQL cancels a statement, also one that waits for a lock, and rolls back, so the outcome is known. */
export const statementTimeoutMs = 4000;

function openPool(url: string, max: number): PrismaPg {
  return new PrismaPg({
    connectionString: url,
    max,
    // Of the wait for a free connection, and of opening one.
    connectionTimeoutMillis: 2000,
    statement_timeout: statementTimeoutMs,
    // For a PostgreSQL that does not respond at all: its connection is closed, and replaced by the next statement.
    query_timeout: statementTimeoutMs + 1000,
    keepAlive: true,
  });
}

/**
 * What a failed query says about the database.
 * - refused: it can't be reached, is not ready, or cancelled the query; nothing was written
 * - lost: the connection was lost during the query; a write may have happened or not
 */
export type Unavailability = 'refused' | 'lost';

/**
 * Signs of an error: kinds of Prisma's adapters, codes of the operating system, SQLSTATEs of PostgreSQL (appendix A of its
 * manual) or their classes of two characters, and messages of the driver `pg`, whose own errors have no code.
 */
const signs = (list: string): ReadonlySet<string> => new Set(list.split(/,\s+/));

/*
 * SQLSTATE: cancelled by statement_timeout or lock_timeout; rolled back because of another transaction; the login is
 * refused, or there is no such database; a table or a column is missing: migrations are not applied; a standby is read-only;
 * too many connections, out of memory, disk full; not accepting connections yet.
 */
const refused =
  signs(`DatabaseNotReachable, TlsConnectionError, EAI_AGAIN, ECONNREFUSED, EHOSTUNREACH, ENOTFOUND,
  57014, 55P03, 40001, 40P01, 28, 3D000, 42P01, 42703, 25006, 53, 57P03,
  Connection terminated due to connection timeout, timeout exceeded when trying to connect, timeout expired,
  Transaction API error: Unable to start a transaction in the given time.`);

/* P2028 is Prisma's: the time of a transaction is over. */
const lost = signs(`ConnectionClosed, SocketTimeout, ECONNRESET, EPIPE, ETIMEDOUT, 40003, 57, 08, P2028,
  Connection terminated, Connection terminated unexpectedly, Query read timeout,
  Client has encountered a connection error and is not queryable`);

/** @returns undefined if the error is not about the database's availability */
export function unavailabilityOf(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined;
  const { driverAdapterError } = (error instanceof Prisma.PrismaClientKnownRequestError && error.meta) || {};
  const isAdapters = driverAdapterError instanceof Error && isDriverAdapterError(driverAdapterError);
  const { kind = '', originalCode = '' } = isAdapters ? driverAdapterError.cause : {};
  const code = 'code' in error ? String(error.code) : '';
  // Whole messages only, since a message may quote what a client sent.
  const found = [code, kind, originalCode, originalCode.slice(0, 2), error.message];
  const isOneOf = (list: ReadonlySet<string>) => found.some((sign) => list.has(sign));
  return isOneOf(refused) ? 'refused' : isOneOf(lost) ? 'lost' : undefined;
}
