import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
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
