import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bindMigrationAwareSqlAdapterFactory,
  DriverAdapterError,
  isDriverAdapterError,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { SchemaEngine, type MigrationList } from '@prisma/schema-engine-wasm';
import { readDatabaseUrl } from './database-url.ts';

const directory = fileURLToPath(new URL('.', import.meta.url));

/**
 * Applies pending migrations as `prisma migrate deploy` does, and records them in the same table, but with the engine's
 * WebAssembly build: nothing is downloaded, and it works for the embedded database, too.
 * @returns names of the applied migrations
 * @throws Error of the engine, the database or the adapter
 */
export async function migrate(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string[]> {
  const connections: SqlDriverAdapter[] = [];
  const bound = bindMigrationAwareSqlAdapterFactory(prepareConnections(adapter, connections));
  const schema = await readText('schema.prisma');
  try {
    const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, bound);
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: await readMigrations(),
      filters: { externalTables: [], externalEnums: [] },
    });
    return appliedMigrationNames;
  } catch (error) {
    // The engine refers to errors of JavaScript, such as of a missing certificate, by a number.
    const [, id] = /External error id#(\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
    throw bound.errorRegistry.consumeError(Number(id))?.error ?? error;
  } finally {
    // The engine holds its lock against other migrations until its connection ends, and never ends it.
    await Promise.all(connections.map((connection) => connection.dispose()));
  }
}

/**
 * Sends a migration to PostgreSQL as one message, as the native engine does: it is one transaction, so one that fails leaves
 * nothing behind. The adapter would split it at each semicolon, also inside of text and functions.
 */
function prepareConnections(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  connections: SqlDriverAdapter[],
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: adapter.provider,
    adapterName: adapter.adapterName,
    async connect() {
      const connection = await adapter.connect();
      connections.push(connection);
      if (adapter.adapterName !== '@prisma/adapter-pg') return connection;
      connection.executeScript = async (sql) => {
        // Without arguments, pg sends a statement in the simple protocol, which allows several in one.
        await connection.executeRaw({ sql, args: [], argTypes: [] }).catch((error: unknown) => {
          throw inWordsOfPostgres(error);
        });
      };
      return connection;
    },
    connectToShadowDb: () => adapter.connectToShadowDb(),
  };
}

/** For some codes the engine has words of its own, such as "Null constraint failed:", which do not name the column. */
function inWordsOfPostgres(error: unknown): unknown {
  if (!isDriverAdapterError(error)) return error;
  const { originalCode, originalMessage } = error.cause;
  if (originalCode === undefined || originalMessage === undefined) return error;
  const message = `${originalMessage} (SQLSTATE ${originalCode})`;
  const details = { detail: undefined, column: undefined, hint: undefined };
  return new DriverAdapterError({ kind: 'postgres', code: 'N/A', severity: 'ERROR', message, ...details });
}

async function readMigrations(): Promise<MigrationList> {
  const entries = await readdir(join(directory, 'migrations'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const read = async (path: string) => {
    const content = { tag: 'ok' as const, value: await readText(`migrations/${path}/migration.sql`) };
    return { path, migrationFile: { path: 'migration.sql', content } };
  };
  return {
    baseDir: join(directory, 'migrations'),
    lockfile: { path: 'migration_lock.toml', content: await readText('migrations/migration_lock.toml') },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(names.toSorted().map(read)),
  };
}

function readText(name: string): Promise<string> {
  return readFile(join(directory, name), 'utf8');
}

/**
 * Maximum time that a migration waits for a lock of a table: all statements of the services queue behind it. The engine waits
 * for another migration as long.
 */
const lockTimeoutMs = 10_000;

/** `npm run migrate`. @throws Error for people */
async function migrateDatabase(): Promise<void> {
  if (process.argv.length > 2)
    throw new Error(`unexpected argument ${process.argv[2]}: npm run migrate takes none`);
  const connectionString = readDatabaseUrl(process.env);
  if (connectionString === undefined) {
    throw new Error('DATABASE_URL is not set; the embedded database migrates itself at start');
  }
  const { PrismaPg } = await import('@prisma/adapter-pg');
  const settings = { connectionString, connectionTimeoutMillis: 5000, lock_timeout: lockTimeoutMs };
  const applied = await migrate(new PrismaPg(settings));
  process.stdout.write(applied.length === 0 ? 'no new migrations\n' : `applied ${applied.join(', ')}\n`);
}

/** The error of a migration with its name, and without the words and the trace that the engine puts around it. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes('unsupported startup parameter')) {
    return 'DATABASE_URL leads to PgBouncer, where a migration is not safe: use the address of PostgreSQL itself';
  }
  const [, name] = /migration_name="([^"]+)"/.exec(message) ?? [];
  const [text = ''] = message
    .replace(/^external connector error\n(Error querying the database: )?/, '')
    .split('\n   0: ');
  const words = text
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
  return name === undefined ? words : `${name} failed: ${words}; see pets-service/README.md`;
}

if (import.meta.main) {
  try {
    await migrateDatabase();
    process.exit(0);
  } catch (error) {
    process.stderr.write(`migrate: ${describe(error)}\n`);
    process.exit(1);
  }
}
