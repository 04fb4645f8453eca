import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';

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

/** PGlite: PostgreSQL compiled to WebAssembly, its files in the data directory. */
async function openEmbedded(dataDirectory: string): Promise<Database> {
  const unlock = lock(dataDirectory);
  const directory = join(dataDirectory, 'postgres');
  const [{ PGlite }, { PrismaPGlite }] = await Promise.all([
    import('@electric-sql/pglite'),
    import('pglite-prisma-adapter'),
  ]);
  // Its files come into being readable for everybody: the directory keeps others out.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  chmodSync(directory, 0o700);
  const client = await PGlite.create(directory);
  return {
    adapter: new PrismaPGlite(client),
    description: `embedded PostgreSQL, data kept in ${directory}`,
    async close() {
      await client.close();
      unlock();
    },
  };
}

/**
 * Two processes on the same files would destroy them. SQLite takes a lock of the operating system, which ends with
 * the process however it ends. The gateway locks its own data in the same way; they share no code.
 */
function lock(dataDirectory: string): () => void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const file = new DatabaseSync(join(dataDirectory, 'postgres.lock'), { timeout: 0 });
  try {
    file.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    throw new Error(
      `the data directory ${dataDirectory} is in use by another process; stop that one or set DATA_DIR to another directory`,
      { cause: error },
    );
  }
  return () => file.close();
}
