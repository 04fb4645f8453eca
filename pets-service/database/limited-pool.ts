import pg from 'pg';
import type { Logger } from 'pino';

interface LimitedPoolOptions {
  settings: pg.PoolConfig;
  /** Maximum time of a statement, and of its wait for a lock. PostgreSQL cancels it then, and rolls back. */
  statementTimeoutMs: number;
  log: Logger;
}

/**
 * Creates a pool that limits the time of its statements by parameters of its connections. PgBouncer refuses these by
 * default, and shares its connections in transaction mode. From its first refusal on, each statement is a transaction that
 * sets its own limits, which takes three round trips in place of one.
 */
export function createLimitedPool({ settings, statementTimeoutMs, log }: LimitedPoolOptions): pg.Pool {
  const limits = { statement_timeout: statementTimeoutMs, lock_timeout: statementTimeoutMs };
  const pool = new pg.Pool({ ...settings, ...limits });
  const queryOnce = pool.query.bind(pool);
  const begin = `BEGIN; ${Object.entries(limits)
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
    .join('; ')}`;
  let byTransaction = false;

  async function queryInTransaction(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await pool.connect();
    try {
      await client.query(begin);
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

  async function query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    if (byTransaction) return queryInTransaction(statement);
    try {
      return await queryOnce(statement);
    } catch (error) {
      if (!isParameterRefused(error)) throw error;
      // The pool reads its options for each new connection.
      for (const name of Object.keys(limits)) Object.assign(pool.options, { [name]: undefined });
      if (!byTransaction) {
        log.info(
          'PgBouncer refuses statement_timeout as a parameter; each statement sets it in a transaction',
        );
      }
      byTransaction = true;
      return queryInTransaction(statement);
    }
  }

  return Object.assign(pool, { query });
}

/** PgBouncer's error for a parameter that it does not know and that ignore_startup_parameters does not name. */
function isParameterRefused(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter');
}
