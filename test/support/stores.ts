import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { startRedisServer } from './redis-server.ts';

/** What the services keep their data in, as environment variables for them. */
export interface Stores extends AsyncDisposable {
  env: Record<string, string>;
}

export interface StoresKind {
  name: string;
  /** Why tests on them can't run here; printed with the skipped test. */
  missing: string | undefined;
  start(): Promise<Stores>;
}

export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

/** A new empty database on the tests' PostgreSQL. */
export async function createDatabase(): Promise<string> {
  const adminUrl = inject('postgresAdminUrl');
  if (adminUrl === undefined) throw new Error('PostgreSQL is not installed');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client(adminUrl);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
}

const embedded: StoresKind = {
  name: 'embedded stores',
  missing: undefined,
  start: () =>
    Promise.resolve({
      // Without programs on PATH, Redis is the one in JavaScript.
      env: { PATH: '' },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};

const real: StoresKind = {
  name: 'redis-server and PostgreSQL',
  missing: hasRedisServer ? undefined : 'redis-server is not installed',
  async start() {
    const redis = await startRedisServer();
    return {
      env: { REDIS_URL: redis.url, DATABASE_URL: await createDatabase() },
      [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
    };
  },
};

export const storesKinds = [embedded, real];
