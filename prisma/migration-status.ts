import { hash } from 'node:crypto';
import pg from 'pg';
import { z } from 'zod';
import { readMigrations } from './schema-engine.ts';

/**
 * - applied
 * - pending: not applied yet
 * - running: another process applies it
 * - failed: its SQL failed, or its process ended before it was recorded as applied
 * - edited: applied, and its file has changed since
 * - unknown: applied by a release that has it; this one does not
 */
export type MigrationState = 'applied' | 'pending' | 'running' | 'failed' | 'edited' | 'unknown';

export interface MigrationStatus {
  name: string;
  state: MigrationState;
  /** Of a failed migration: the error of PostgreSQL; undefined if its process ended without one. */
  error: string | undefined;
}

/** Number of the advisory lock that Prisma's engines hold while they migrate. */
const engineLock = 72_707_369;

const recordedRow = z.object({
  name: z.string(),
  checksum: z.string(),
  finished: z.boolean(),
  logs: z.string().nullable(),
});
type RecordedRow = z.infer<typeof recordedRow>;

/**
 * Compares the migrations of this release with those of the database, by name. Only reads, and waits for no migration.
 * @throws Error if the database is unavailable
 */
export async function readMigrationStatus(databaseUrl: string): Promise<MigrationStatus[]> {
  const [files, { rows, locked }] = await Promise.all([readMigrations(), readDatabase(databaseUrl)]);
  const checksums = new Map(
    files.map(({ path, migrationFile }) => [path, hash('sha256', migrationFile.content.value, 'hex')]),
  );
  const recorded = new Map(rows.map((row) => [row.name, row]));
  return [...new Set([...checksums.keys(), ...recorded.keys()])].toSorted().map((name) => {
    const row = recorded.get(name);
    const state = stateOf(row, checksums.get(name), locked);
    return { name, state, error: state === 'failed' ? databaseError(row?.logs) : undefined };
  });
}

function stateOf(
  row: RecordedRow | undefined,
  checksum: string | undefined,
  locked: boolean,
): MigrationState {
  if (row === undefined) return 'pending';
  if (!row.finished) return locked ? 'running' : 'failed';
  if (checksum === undefined) return 'unknown';
  return row.checksum === checksum ? 'applied' : 'edited';
}

/** The engine logs the error between words of its own and a stack. */
function databaseError(logs: string | null | undefined): string | undefined {
  const lines = (logs ?? '').split('\n').map((line) => line.trim());
  return lines
    .find((line) => line !== '' && line !== 'external connector error')
    ?.replace(/^Error querying the database: /, '');
}

async function readDatabase(databaseUrl: string): Promise<{ rows: RecordedRow[]; locked: boolean }> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    query_timeout: 5000,
  });
  await client.connect();
  try {
    const exists = await client.query(`SELECT 1 WHERE to_regclass('_prisma_migrations') IS NOT NULL`);
    if (exists.rowCount === 0) return { rows: [], locked: false };
    // The lock first: a migration that ends in between is read as finished.
    const { rowCount: locks } = await client.query(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = $1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [engineLock],
    );
    const { rows } = await client.query(
      `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished, logs
       FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
    );
    return { rows: z.array(recordedRow).parse(rows), locked: locks !== 0 };
  } finally {
    await client.end();
  }
}
