import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { startRedisServer } from './redis-server.ts';

/** Redis and database of the services, as environment variables. */
export interface StoreSetup extends AsyncDisposable {
  env: Record<string, string>;
}

export interface StoreKind {
  name: string;
  /** Tags for tests that use them (requirements.ts). */
  tags: string[];
  start(): Promise<StoreSetup>;
}

/** Creates an empty database on the shared PostgreSQL and returns its URL. */
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

const embedded: StoreKind = {
  name: 'embedded stores',
  tags: [],
  start: () =>
    Promise.resolve({
      // With an empty PATH there is no redis-server, so the embedded Redis is used.
      env: { PATH: '' },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
};

const real: StoreKind = {
  name: 'redis-server and PostgreSQL',
  tags: ['redis-server', 'postgresql'],
  async start() {
    const redis = await startRedisServer();
    return {
      env: { REDIS_URL: redis.url, DATABASE_URL: await createDatabase() },
      [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
    };
  },
};

export const storeKinds = [embedded, real];
