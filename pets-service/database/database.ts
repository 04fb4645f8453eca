import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { loadOptional } from '#runtime/optional-package.ts';
import pg from 'pg';

/** A number of connections to the database. */
export interface ConnectionPool {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  size: number;
  /** Opens further connections without a limit of their statements' time, which PgBouncer refuses. */
  dropTimeLimit?: () => void;
}

/** Reads have connections of their own, so that creates that wait for a lock do not block them. */
export interface DatabasePools {
  reads: ConnectionPool;
  /** The same object as `reads` if there is one connection only. */
  writes: ConnectionPool;
}

interface DatabaseOptions {
  /** Undefined: PostgreSQL embedded in this process. */
  url: string | undefined;
  poolSize: number;
  dataDirectory: string;
}

/**
 * Opens either database with the same schema, migrations and SQL.
 * @returns its pools, how to close it, and one line for people: what runs, and where the data is
 */
export async function openDatabase({ url, poolSize, dataDirectory }: DatabaseOptions) {
  if (url === undefined) {
    const { openEmbedded } = await loadOptional(
      () => import('../../prisma/embedded-postgres.ts'),
      'DATABASE_URL is not set, and the embedded PostgreSQL is not installed: set DATABASE_URL',
    );
    const { adapter, ...embedded } = await openEmbedded(dataDirectory);
    const pool = { adapter, size: 1 };
    return { ...embedded, reads: pool, writes: pool };
  }
  const { host, pathname } = new URL(url);
  // Writes get the larger half.
  const readSize = Math.floor(poolSize / 2);
  const writes = openPool(url, poolSize - readSize);
  return {
    reads: readSize === 0 ? writes : openPool(url, readSize),
    writes,
    description: `PostgreSQL at ${host}${pathname}`,
    close: () => Promise.resolve(),
  };
}

/** PostgreSQL cancels a statement, also one that waits for a lock, and rolls back, so the outcome is known. */
export const statementTimeoutMs = 4000;

function openPool(url: string, size: number): ConnectionPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    // Of the wait for a free connection, and of opening one.
    connectionTimeoutMillis: 2000,
    statement_timeout: statementTimeoutMs,
    // For a PostgreSQL that does not respond at all: its connection is closed, and replaced by the next statement.
    query_timeout: statementTimeoutMs + 1000,
    keepAlive: true,
  });
  return {
    adapter: new PrismaPg(pool, { disposeExternalPool: true }),
    size,
    // The pool reads its options for each new connection.
    dropTimeLimit: () => delete pool.options.statement_timeout,
  };
}
