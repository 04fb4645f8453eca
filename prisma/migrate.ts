import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import {
  bindMigrationAwareSqlAdapterFactory,
  type ErrorCapturingSqlMigrationAwareDriverAdapterFactory,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils';
import { SchemaEngine } from '@prisma/schema-engine-wasm';
import { readDatabaseUrl } from './database-url.ts';
import { grantToServiceRole } from './service-role.ts';

const directory = fileURLToPath(new URL('.', import.meta.url));

/**
 * Applies pending migrations as `prisma migrate deploy` does, and records them in the same table, but with the engine's
 * WebAssembly build: nothing is downloaded, and it works for the embedded database, too.
 * @returns names of the applied migrations
 * @throws Error of the database or the adapter
 */
export async function migrate(adapter: SqlMigrationAwareDriverAdapterFactory): Promise<string[]> {
  const connections: SqlDriverAdapter[] = [];
  const bound = bindMigrationAwareSqlAdapterFactory(recordConnections(adapter, connections));
  try {
    return await applyMigrations(bound);
  } catch (error) {
    // The engine refers to errors of JavaScript, such as of a missing certificate, by a number.
    const [, id] = /^External error id#(\d+)/.exec(error instanceof Error ? error.message : '') ?? [];
    throw bound.errorRegistry.consumeError(Number(id))?.error ?? error;
  } finally {
    // The engine holds its lock against other migrations until its connection ends, and never ends it.
    await Promise.all(connections.map((connection) => connection.dispose()));
  }
}

async function applyMigrations(adapter: ErrorCapturingSqlMigrationAwareDriverAdapterFactory) {
  const schema = await readText('schema.prisma');
  const engine = await SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => {}, adapter);
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: join(directory, 'migrations'),
        lockfile: {
          path: 'migration_lock.toml',
          content: await readText('migrations/migration_lock.toml'),
        },
        shadowDbInitScript: '',
        migrationDirectories: await readMigrations(),
      },
      filters: { externalTables: [], externalEnums: [] },
    });
    return appliedMigrationNames;
  } finally {
    engine.free();
  }
}

function recordConnections(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  connections: SqlDriverAdapter[],
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: adapter.provider,
    adapterName: adapter.adapterName,
    async connect() {
      const connection = await adapter.connect();
      connections.push(connection);
      return connection;
    },
    connectToShadowDb: () => adapter.connectToShadowDb(),
  };
}

async function readMigrations() {
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

if (import.meta.main) {
  try {
    process.stdout.write(await migrateFromEnvironment(process.env));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`migrate: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}

/** @returns what was done, for people */
async function migrateFromEnvironment(env: NodeJS.ProcessEnv): Promise<string> {
  const url = readDatabaseUrl(env);
  if (url === undefined)
    throw new Error('DATABASE_URL is not set; the embedded database migrates itself at start');
  if (URL.parse(url)?.searchParams.has('schema')) {
    throw new Error(
      'DATABASE_URL has the parameter schema, which is not supported: use a database for each environment',
    );
  }
  const adapter = new PrismaPg({ connectionString: url, connectionTimeoutMillis: 5000 });
  const applied = await migrate(adapter);
  const done = applied.length === 0 ? 'no new migrations\n' : `applied ${applied.join(', ')}\n`;
  const role = env['DATABASE_SERVICE_ROLE'];
  if (!role) return done;
  await grantToServiceRole(adapter, role);
  return `${done}granted the role ${role} what the pets service needs\n`;
}
