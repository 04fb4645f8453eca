import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  bindMigrationAwareSqlAdapterFactory,
  DriverAdapterError,
  isDriverAdapterError,
  type ErrorCapturingSqlMigrationAwareDriverAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { SchemaEngine, type MigrationList } from '@prisma/schema-engine-wasm';

const directory = fileURLToPath(new URL('.', import.meta.url));

/**
 * Runs Prisma's schema engine, in its WebAssembly build, on the database of an adapter.
 * @throws Error of the engine, the database or the adapter
 */
export async function withSchemaEngine<T>(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  use: (engine: SchemaEngine, migrationsList: MigrationList) => Promise<T>,
): Promise<T> {
  const connections: SqlDriverAdapter[] = [];
  const bound = bindMigrationAwareSqlAdapterFactory(prepareConnections(adapter, connections));
  try {
    return await runEngine(bound, use);
  } catch (error) {
    // The engine refers to errors of JavaScript, such as of a missing certificate, by a number.
    const [, id] = /External error id#(\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
    throw bound.errorRegistry.consumeError(Number(id))?.error ?? error;
  } finally {
    // The engine holds its lock against other migrations until its connection ends, and never ends it.
    await Promise.all(connections.map((connection) => connection.dispose()));
  }
}

async function runEngine<T>(
  adapter: ErrorCapturingSqlMigrationAwareDriverAdapterFactory,
  use: (engine: SchemaEngine, migrationsList: MigrationList) => Promise<T>,
): Promise<T> {
  const schema = await readText('schema.prisma');
  const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapter);
  try {
    return await use(engine, await readMigrationList());
  } finally {
    engine.free();
  }
}

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
      if (adapter.adapterName === '@prisma/adapter-pg') runScriptsWhole(connection);
      return connection;
    },
    connectToShadowDb: () => adapter.connectToShadowDb(),
  };
}

/**
 * Sends a script as one message, as the native engine does. PostgreSQL runs it as one transaction, so a migration that
 * fails leaves nothing behind. The adapter splits scripts at each semicolon, also inside of text and functions.
 */
function runScriptsWhole(connection: SqlDriverAdapter): void {
  connection.executeScript = async (sql) => {
    try {
      // Without arguments, pg sends a statement in the simple protocol, which allows several in one.
      await connection.executeRaw({ sql, args: [], argTypes: [] });
    } catch (error) {
      throw inWordsOfPostgres(error);
    }
  };
}

/**
 * The error as the engine records it. For some codes the engine has words of its own, such as "Null constraint failed:",
 * which do not name the column, so the code becomes a part of the message.
 */
function inWordsOfPostgres(error: unknown): unknown {
  if (!isDriverAdapterError(error)) return error;
  const { originalCode, originalMessage } = error.cause;
  if (originalCode === undefined || originalMessage === undefined) return error;
  const message = `${originalMessage} (SQLSTATE ${originalCode})`;
  const details = { detail: undefined, column: undefined, hint: undefined };
  return new DriverAdapterError({ kind: 'postgres', code: 'N/A', severity: 'ERROR', message, ...details });
}

async function readMigrationList(): Promise<MigrationList> {
  return {
    baseDir: join(directory, 'migrations'),
    lockfile: { path: 'migration_lock.toml', content: await readText('migrations/migration_lock.toml') },
    shadowDbInitScript: '',
    migrationDirectories: await readMigrations(),
  };
}

/** The migrations of this release, by name. */
export async function readMigrations() {
  const entries = await readdir(join(directory, 'migrations'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.toSorted().map(async (path) => ({
      path,
      migrationFile: {
        path: 'migration.sql',
        content: { tag: 'ok' as const, value: await readText(`migrations/${path}/migration.sql`) },
      },
    })),
  );
}

function readText(name: string): Promise<string> {
  return readFile(join(directory, name), 'utf8');
}
