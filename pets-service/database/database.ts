import { setTimeout as sleep } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Config } from '../config.ts';

/** Reads have connections of their own, so that creates that wait for a lock do not block them. */
export interface DatabasePools {
  reads: SqlMigrationAwareDriverAdapterFactory;
  /** The same object as `reads` if there is one connection only. */
  writes: SqlMigrationAwareDriverAdapterFactory;
}

export type Database = Awaited<ReturnType<typeof openDatabase>>;
type DatabaseSettings = Pick<Config, 'DATABASE_URL' | 'DATABASE_POOL_SIZE' | 'DATA_DIR'>;

/**
 * Opens PostgreSQL, or the one that is embedded in this process, with the same schema, migrations and SQL.
 * @returns its pools, how to close it, and one line for people: what runs, and where the data is
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
  const pool = new pg.Pool({
    connectionString: url,
    max,
    // Of the wait for a free connection, and of opening one.
    connectionTimeoutMillis: 2000,
    statement_timeout: statementTimeoutMs,
    // For a PostgreSQL that does not respond at all: its connection is closed, and replaced by the next statement.
    query_timeout: statementTimeoutMs + 1000,
    keepAlive: true,
  });
  return new PrismaPg(pool, { disposeExternalPool: true });
}

export type DatabaseHealth = ReturnType<typeof createDatabaseHealth>;

/** Checks whether the database responds and has the tables of this version. Logs each change. */
export function createDatabaseHealth({ store, log }: { store: { check(): Promise<unknown> }; log: Logger }) {
  let everHealthy = false;
  let isLogged = false;

  async function ask(): Promise<'ok' | 'unavailable'> {
    try {
      await store.check();
      if (isLogged) log.warn('database is available again');
      isLogged = false;
      everHealthy = true;
      return 'ok';
    } catch (error) {
      const outdated = everHealthy ? '' : ', or its schema is out of date; run npm run migrate';
      if (!isLogged) log.error({ err: error }, `database is unavailable${outdated}`);
      isLogged = true;
      return 'unavailable';
    }
  }

  return {
    /** Whether the database has been ok once. */
    everHealthy: () => everHealthy,
    /** Never rejects. @returns `unavailable` if the state is not known in time */
    check: (timeoutMs: number) =>
      Promise.race([ask(), sleep(timeoutMs, 'unavailable' as const, { ref: false })]),
  };
}

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
