import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { openEmbedded } from './embedded-postgres.ts';

export interface Database {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  /** One line for people: what runs, and where the data is. */
  description: string;
  close(): Promise<void>;
}

interface DatabaseOptions {
  /** Undefined: PostgreSQL embedded in this process. */
  url: string | undefined;
  poolSize: number;
  dataDirectory: string;
}

/** Time to connect, and to wait for a free connection of the pool. A request that waits longer gets 503. */
const connectTimeoutMs = 2000;
/** PostgreSQL cancels the statement and rolls back, so the outcome is known. */
const statementTimeoutMs = 5000;
/** For a PostgreSQL that does not respond at all. Less than callers wait for this service. */
const queryTimeoutMs = 7000;

/** Opens either database with the same schema, migrations and SQL. */
export async function openDatabase({ url, poolSize, dataDirectory }: DatabaseOptions): Promise<Database> {
  if (url === undefined) return openEmbedded(dataDirectory);
  const adapter = new PrismaPg({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: statementTimeoutMs,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
  });
  const { host, pathname } = new URL(url);
  return { adapter, description: `PostgreSQL at ${host}${pathname}`, close: () => Promise.resolve() };
}
