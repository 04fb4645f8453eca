import { execFile, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { issueServiceToken } from '../../gateway/upstream/internal-token.ts';
import { migrate } from '../../prisma/migrate.ts';
import { freePort } from '../support/http/free-port.ts';
import { findPostgres } from '../support/stores/postgres-server.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

const run = promisify(execFile);

/** PostgreSQL with its databases, and a service token; all contenders share them. */
export interface PetsFixture extends AsyncDisposable {
  directory: string;
  /** CPU time of PostgreSQL, including backends that exited because their connection was idle. */
  postgresCpuSeconds(): Promise<number>;
  /** Service token that the pets service accepts. */
  token: string;
  /** Key that signs the token. */
  privateKeyFile: string;
  publicKeyFile: string;
  /** The oldest pets are sold, as in a real store. @returns URL of the database */
  createDatabase(pets: number): Promise<string>;
}

/** Share of the pets in each database that are sold. */
export const soldShare = 0.6;

/** @returns missing Debian packages, or undefined if all are installed */
export function missingPackages(): string | undefined {
  const missing = [
    spawnSync('wrk', ['-v']).error === undefined ? [] : 'wrk',
    findPostgres() === undefined ? 'postgresql' : [],
    spawnSync('taskset', ['--version']).error === undefined ? [] : 'util-linux',
  ].flat();
  return missing.length === 0 ? undefined : missing.join(', ');
}

export async function setUpPetsBench(): Promise<PetsFixture> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));
  const port = await freePort();
  const postgres = await startPostgres(directory, port);
  stack.defer(() => postgres.stop());
  const adminUrl = `postgresql://test@127.0.0.1:${port}/postgres`;
  await waitUntilAcceptingQueries(adminUrl);

  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const privateKeyFile = join(directory, 'private.pem');
  await writeFile(privateKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const publicKeyFile = join(directory, 'public.pem');
  await writeFile(publicKeyFile, publicKey.export({ type: 'spki', format: 'pem' }));

  const disposables = stack.move();
  return {
    directory,
    postgresCpuSeconds: async () =>
      (await postgres.cpuSeconds()) + (await exitedBackendsCpuSeconds(directory)),
    token: issueServiceToken(privateKey, 'bench', 3600),
    privateKeyFile,
    publicKeyFile,
    async createDatabase(pets) {
      const name = `pets_${pets}`;
      await query(adminUrl, `CREATE DATABASE ${name}`);
      const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
      await migrate(new PrismaPg({ connectionString: url }));
      await query(
        url,
        `INSERT INTO pets (name, category_id, status)
        SELECT 'Pet ' || n, n % 1000, (
          CASE WHEN n % 100 = 0 THEN 'pending' WHEN n <= ${pets * soldShare} THEN 'sold' ELSE 'available' END
        )::"PetStatus"
        FROM generate_series(1, ${pets}) AS n`,
      );
      await query(url, 'VACUUM ANALYZE pets');
      return url;
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/**
 * Runs on the load generator's core, so that the service has a core of its own. fsync is off, because disk latency
 * would hide differences between contenders.
 */
async function startPostgres(directory: string, port: number): Promise<PinnedProcess> {
  const binDirectory = findPostgres() ?? '';
  const data = join(directory, 'postgres');
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`, 'fsync=off'];
  const lessBackgroundWork = [
    'synchronous_commit=off',
    'autovacuum=off',
    'checkpoint_timeout=1h',
    'max_wal_size=8GB',
  ];
  const initArgs = ['-D', data, '-U', 'test', '-A', 'trust', '--no-sync', '--encoding=UTF8', '--no-locale'];
  const serverArgs = [
    '-D',
    data,
    '-p',
    String(port),
    ...[...settings, ...lessBackgroundWork].flatMap((each) => ['-c', each]),
  ];
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined;
  const asUser = user === undefined ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  if (user !== undefined) await chown(directory, user.uid, user.gid);
  await chmod(directory, 0o755);
  await run(join(binDirectory, 'initdb'), initArgs, { ...user, cwd: directory });
  return startPinned({
    core: cores.support,
    command: user === undefined ? join(binDirectory, 'postgres') : 'setpriv',
    args: user === undefined ? serverArgs : [...asUser, join(binDirectory, 'postgres'), ...serverArgs],
    directory,
    port,
  });
}

/** Fields 16 and 17 in proc(5): CPU time of children that exited, in ticks of 10 ms. */
async function exitedBackendsCpuSeconds(directory: string): Promise<number> {
  const [pid] = (await readFile(join(directory, 'postgres', 'postmaster.pid'), 'utf8')).split('\n');
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

async function postgresUser(): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(['-u', '-g'].map((option) => run('id', [option, 'postgres'])));
  return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
}

/** PostgreSQL listens shortly before it accepts queries. */
async function waitUntilAcceptingQueries(url: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await query(url, 'SELECT 1');
      return;
    } catch (error) {
      if (attempt === 100) throw error;
      await sleep(100);
    }
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
