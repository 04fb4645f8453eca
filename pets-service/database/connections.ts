import { errorMessage } from '#runtime/error-message.ts';
import type { Logger } from 'pino';
import { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { statementTimeoutMs, type ConnectionPool } from './database.ts';
import type { StatementSpans, StatementSummary } from './statement-spans.ts';

interface ConnectionsOptions {
  name: 'reads' | 'writes';
  pool: ConnectionPool;
  log: Logger;
  spans: StatementSpans;
  /** Called with the name of the pool and the duration of each query, with its wait for a connection. */
  onStatement: (pool: string, seconds: number) => void;
}

/** Prisma on a pool, whose queries are counted, measured and limited in time. */
export type Connections = ReturnType<typeof createConnections>;

/** Cancels further statements of this transaction in time. The parameter of the connection is not there with PgBouncer. */
export const limitTransaction = Prisma.sql`set_config('statement_timeout', ${String(statementTimeoutMs)}, true)`;

export function createConnections({ name, pool, log, spans, onStatement }: ConnectionsOptions) {
  const { adapter, size } = pool;
  const prisma = new PrismaClient({
    adapter,
    // With other formats Prisma captures the stack at each call, to show code in its error messages.
    errorFormat: 'minimal',
    // The pool gives up first when it waits for a connection.
    transactionOptions: { maxWait: 5000, timeout: statementTimeoutMs + 1000 },
  });
  let running = 0;
  let byTransaction = false;

  /** PgBouncer refuses a limit by parameter, and shares its connections: there each transaction sets its own. */
  async function connected<T>(query: () => Promise<T>): Promise<T> {
    try {
      return await query();
    } catch (error) {
      if (!errorMessage(error).includes('unsupported startup parameter')) throw error;
    }
    if (!byTransaction) {
      log.info('PgBouncer refuses statement_timeout as a parameter; each statement sets it in a transaction');
    }
    byTransaction = true;
    pool.dropTimeLimit?.();
    return query();
  }

  async function measured<T>(query: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    running += 1;
    try {
      return await connected(query);
    } finally {
      running -= 1;
      onStatement(name, (performance.now() - startedAt) / 1000);
    }
  }

  return {
    prisma,
    /** Runs a query in a transaction of its own. */
    run<T>(summary: StatementSummary, query: (prisma: PrismaClient) => Prisma.PrismaPromise<T>): Promise<T> {
      return measured(() =>
        spans.statement(summary, async () => {
          if (!byTransaction) return query(prisma);
          const [, result] = await prisma.$transaction([
            prisma.$queryRaw`SELECT ${limitTransaction}`,
            query(prisma),
          ]);
          return result;
        }),
      );
    },
    /** Runs queries in one transaction, whose first one has `limitTransaction`. */
    transact: <T>(queries: (transaction: Prisma.TransactionClient) => Promise<T>) =>
      measured(() => prisma.$transaction(queries)),
    /** What the pool does at the moment: its connections, queries that have one, and queries that wait for one. */
    state: () => ({ name, size, running: Math.min(running, size), waiting: Math.max(0, running - size) }),
  };
}
