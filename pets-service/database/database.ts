import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { errorMessage } from '#runtime/error-message.ts';
import { loadOptional } from '#runtime/optional-package.ts';
import pg from 'pg';
import type { Logger } from 'pino';

/** A number of connections to the database. */
export interface ConnectionPool {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  size: number;
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
  log: Logger;
}

/**
 * Opens either database with the same schema, migrations and SQL.
 * @returns its pools, how to close it, and one line for people: what runs, and where the data is
 */
export async function openDatabase({ url, poolSize, dataDirectory, log }: DatabaseOptions) {
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
  // Writes get the larger half, because those with an idempotency key share no statements.
  const readSize = Math.floor(poolSize / 2);
  const writes = openPool(url, poolSize - readSize, log);
  return {
    reads: readSize === 0 ? writes : openPool(url, readSize, log),
    writes,
    description: `PostgreSQL at ${host}${pathname}`,
    close: () => Promise.resolve(),
  };
}

const limits = {
  connectionTimeoutMillis: 2000,
  /** PostgreSQL cancels a statement, also one that waits for a lock, and rolls back, so the outcome is known. */
  statement_timeout: 4000,
  /** For a PostgreSQL that does not respond at all: its connection is closed, and replaced by the next statement. */
  query_timeout: 5000,
  keepAlive: true,
};

/**
 * Opens a pool that limits the time of its statements by a parameter of its connections. PgBouncer refuses it by default,
 * and shares its connections in transaction mode. From its first refusal on, each statement is a transaction that sets its
 * own limit, which takes three round trips in place of one.
 */
function openPool(url: string, size: number, log: Logger): ConnectionPool {
  const pool = new pg.Pool({ connectionString: url, max: size, ...limits });
  const queryOnce = pool.query.bind(pool);
  let byTransaction = false;

  async function query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    if (byTransaction) return queryInTransaction(pool, statement);
    try {
      return await queryOnce(statement);
    } catch (error) {
      if (!errorMessage(error).startsWith('unsupported startup parameter')) throw error;
    }
    if (!byTransaction) {
      log.info('PgBouncer refuses statement_timeout as a parameter; each statement sets it in a transaction');
    }
    byTransaction = true;
    // The pool reads its options for each new connection.
    delete pool.options.statement_timeout;
    return query(statement);
  }

  return { adapter: new PrismaPg(Object.assign(pool, { query }), { disposeExternalPool: true }), size };
}

async function queryInTransaction(pool: pg.Pool, statement: pg.QueryConfig): Promise<pg.QueryResult> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL statement_timeout = ${limits.statement_timeout}`);
    const result = await client.query(statement);
    await client.query('COMMIT');
    client.release();
    return result;
  } catch (error) {
    // Closes the connection, and so rolls back.
    client.release(true);
    throw error;
  }
}
