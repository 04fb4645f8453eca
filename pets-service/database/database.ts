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

/** To connect, and to wait for a connection of the pool where all are busy: a request that waits longer gets 503. */
const connectTimeoutMs = 2000;
/** PostgreSQL itself gives up first and rolls back, so that the outcome is known. */
const statementTimeoutMs = 5000;
/** For a PostgreSQL that does not answer at all; less than callers wait for us. */
const queryTimeoutMs = 7000;

/** Either way the same schema, the same migrations and the same SQL. */
export async function openDatabase({ url, poolSize, dataDirectory }: DatabaseOptions): Promise<Database> {
  return url === undefined ? openEmbedded(dataDirectory) : openPostgres(url, poolSize);
}

function openPostgres(url: string, poolSize: number): Database {
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
