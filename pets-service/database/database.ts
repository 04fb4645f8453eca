import { PrismaPg } from '@prisma/adapter-pg';
import type { Logger } from 'pino';
import type { ConnectionPool, DatabasePools } from './connections.ts';
import { openEmbedded } from './embedded-postgres.ts';
import { createLimitedPool } from './limited-pool.ts';

export interface Database extends DatabasePools {
  /** One line for people: what runs, and where the data is. */
  description: string;
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** Undefined: PostgreSQL embedded in this process. */
  url: string | undefined;
  poolSize: number;
  dataDirectory: string;
  log: Logger;
}

/** Time to open a connection. */
const connectTimeoutMs = 2000;
/** PostgreSQL cancels the statement and rolls back, so the outcome is known. */
const statementTimeoutMs = 4000;
/** For a PostgreSQL that does not respond at all: its connection is closed, and replaced by the next statement. */
const queryTimeoutMs = 5000;

/** Opens either database with the same schema, migrations and SQL. */
export async function openDatabase({
  url,
  poolSize,
  dataDirectory,
  log,
}: DatabaseOptions): Promise<Database> {
  if (url === undefined) {
    const { adapter, ...embedded } = await openEmbedded(dataDirectory);
    const pool = { adapter, size: 1 };
    return { ...embedded, reads: pool, writes: pool };
  }
  const { host, pathname } = new URL(url);
  return {
    ...splitPool(url, poolSize, log),
    description: `PostgreSQL at ${host}${pathname}`,
    close: () => Promise.resolve(),
  };
}

/** Writes get the larger half, because those with an idempotency key share no statements. */
function splitPool(url: string, poolSize: number, log: Logger): DatabasePools {
  const readSize = Math.floor(poolSize / 2);
  const writes = openPool(url, poolSize - readSize, log);
  return { reads: readSize === 0 ? writes : openPool(url, readSize, log), writes };
}

function openPool(url: string, size: number, log: Logger): ConnectionPool {
  const settings = {
    connectionString: url,
    max: size,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  };
  const pool = createLimitedPool({ settings, statementTimeoutMs, log });
  return { adapter: new PrismaPg(pool, { disposeExternalPool: true }), size };
}
