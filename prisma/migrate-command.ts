import { parseArgs } from 'node:util';
import { PrismaPg } from '@prisma/adapter-pg';
import { oneLine } from '#runtime/error-message.ts';
import { migrate } from './apply-migrations.ts';
import { readDatabaseUrl } from './database-url.ts';
import { readMigrationStatus, type MigrationState, type MigrationStatus } from './migration-status.ts';
import { resolveMigration, type Resolution } from './resolve-migration.ts';
import { grantToServiceRole } from './service-role.ts';

const usage =
  'usage: npm run migrate, npm run migrate -- --status, or npm run migrate -- --resolve NAME --applied|--rolled-back';

/** Invalid arguments or settings. */
class UsageError extends Error {
  override name = 'UsageError';
}

type Request = { action: 'migrate' | 'status' } | { action: 'resolve'; name: string; resolution: Resolution };

/** @returns the exit code: 0 done or up to date, 2 invalid input, 1 anything else */
export async function runMigrateCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const request = parseRequest(args);
    const url = readUrl(env);
    switch (request.action) {
      case 'migrate':
        return await applyPending(url, env['DATABASE_SERVICE_ROLE'] || undefined);
      case 'status':
        return await printStatus(url);
      case 'resolve':
        return await resolve(url, request.name, request.resolution);
    }
  } catch (error) {
    printError(describeError(error));
    return error instanceof UsageError ? 2 : 1;
  }
}

function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (message.includes('unsupported startup parameter')) {
    return 'DATABASE_URL leads to PgBouncer, where a migration is not safe: use the address of PostgreSQL itself';
  }
  // The engine gives its lock up after ten seconds, and so does PostgreSQL: either may be first.
  if (!/advisory lock|lock timeout/.test(message)) return message;
  return 'another migration is running; see npm run migrate -- --status, and run this again when it has ended';
}

function parseRequest(args: readonly string[]): Request {
  const { status, resolve, applied, 'rolled-back': rolledBack } = parseOptions(args);
  if (resolve === undefined) {
    if (applied || rolledBack)
      throw new UsageError(`--applied and --rolled-back belong to --resolve; ${usage}`);
    return { action: status ? 'status' : 'migrate' };
  }
  if (status) throw new UsageError(`--status and --resolve exclude each other; ${usage}`);
  if (applied === rolledBack) {
    throw new UsageError(`--resolve ${resolve} needs either --applied or --rolled-back; ${usage}`);
  }
  return { action: 'resolve', name: resolve, resolution: applied ? 'applied' : 'rolled-back' };
}

function parseOptions(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  const options = { status: flag, resolve: { type: 'string' }, applied: flag, 'rolled-back': flag } as const;
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}; ${usage}`);
  }
}

function readUrl(env: NodeJS.ProcessEnv): string {
  const databaseUrl = readSetting(env);
  if (databaseUrl === undefined) {
    throw new UsageError('DATABASE_URL is not set; the embedded database migrates itself at start');
  }
  if (URL.parse(databaseUrl)?.searchParams.has('schema')) {
    throw new UsageError(
      'DATABASE_URL has the parameter schema, which is not supported: use a database for each environment',
    );
  }
  return databaseUrl;
}

function readSetting(env: NodeJS.ProcessEnv): string | undefined {
  try {
    return readDatabaseUrl(env);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Maximum time that a migration waits for another one, as with `prisma migrate deploy`, or for a lock of a table: all
 * statements of the services would queue behind it.
 */
const lockTimeoutMs = 10_000;

function adapterFor(url: string): PrismaPg {
  return new PrismaPg({ connectionString: url, connectionTimeoutMillis: 5000, lock_timeout: lockTimeoutMs });
}

/** @param role role of the pets service, if it is another one than that of the migration */
async function applyPending(url: string, role: string | undefined): Promise<number> {
  try {
    const adapter = adapterFor(url);
    const applied = await migrate(adapter);
    process.stdout.write(applied.length === 0 ? 'no new migrations\n' : `applied ${applied.join(', ')}\n`);
    if (role === undefined) return 0;
    await grantToServiceRole(adapter, role);
    process.stdout.write(`granted the role ${role} what the pets service needs\n`);
    return 0;
  } catch (error) {
    const failed = (await readMigrationStatus(url).catch(() => [])).filter(({ state }) => state === 'failed');
    if (failed.length === 0) throw error;
    for (const migration of failed) printError(describeFailed(migration));
    return 1;
  }
}

const meanings: Readonly<Record<MigrationState, string>> = {
  applied: '',
  pending: 'npm run migrate applies it',
  running: 'another process applies it now',
  failed: '',
  edited: 'its file has changed since it was applied',
  unknown: 'applied by another release; this one does not have it',
};

async function printStatus(url: string): Promise<number> {
  const migrations = await readMigrationStatus(url);
  const width = Math.max(0, ...migrations.map(({ name }) => name.length));
  for (const migration of migrations) {
    const { name, state } = migration;
    const meaning = state === 'failed' ? wayOut(migration) : meanings[state];
    process.stdout.write(`${`${name.padEnd(width)}  ${state.padEnd(7)}  ${meaning}`.trimEnd()}\n`);
  }
  return migrations.every(({ state }) => state === 'applied' || state === 'unknown') ? 0 : 1;
}

async function resolve(url: string, name: string, resolution: Resolution): Promise<number> {
  await resolveMigration(adapterFor(url), name, resolution);
  const consequence = resolution === 'applied' ? '' : '; npm run migrate runs it again';
  process.stdout.write(`${name} is recorded as ${resolution.replace('-', ' ')}${consequence}\n`);
  return 0;
}

function describeFailed(migration: MigrationStatus): string {
  return `${migration.name} failed: ${wayOut(migration)}`;
}

function wayOut({ name, error }: MigrationStatus): string {
  const reason = error ?? 'its process ended early';
  return `${reason}; see prisma/README.md, then npm run migrate -- --resolve ${name} --rolled-back, or --applied`;
}

function printError(message: string): void {
  process.stderr.write(`migrate: ${oneLine(message)}\n`);
}
