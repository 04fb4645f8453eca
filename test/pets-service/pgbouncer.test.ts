import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson, send } from '../support/http/http.ts';
import { runProgram, startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startPgBouncer } from '../support/stores/pgbouncer.ts';
import { createDatabase } from '../support/stores/stores.ts';

describe('behind PgBouncer in transaction mode', { tags: ['postgresql', 'pgbouncer'] }, () => {
  let databaseUrl: string;
  let bouncedUrl: string;
  let key: string;

  const directory = shared(temporaryDirectory);
  const bouncer = shared(async () => {
    databaseUrl = await createDatabase();
    await runProgram(['prisma/migrate.ts'], { DATABASE_URL: databaseUrl });
    const client = new pg.Client(databaseUrl);
    await client.connect();
    const database = new URL(databaseUrl).pathname.slice(1);
    await client.query(`ALTER ROLE CURRENT_USER IN DATABASE "${database}" SET statement_timeout = '4s'`);
    await client.end();
    return startPgBouncer(databaseUrl);
  });
  const service = shared(() => {
    bouncedUrl = bouncer.through(databaseUrl);
    return startPetsService({ DATA_DIR: directory.path, DATABASE_URL: bouncedUrl, DEMO: 'false' });
  });
  beforeAll(() => {
    key = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
  });

  const create = (name: string, headers = {}) =>
    postJson(`${service.url}/v1/pets`, key, { name, categoryId: 1 }, headers);
  const list = () => send(`${service.url}/v1/pets?limit=100`, { key });

  test('the service becomes ready, and serves lists, creates and retried creates', async () => {
    await expect.poll(async () => (await send(`${service.url}/readyz`)).status).toBe(200);
    const created = await Promise.all([
      create('Rex'),
      create('Ada'),
      create('Bo', { 'Idempotency-Key': 'bo' }),
    ]);
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await create('Bo', { 'Idempotency-Key': 'bo' })).json).toEqual(created[2]?.json);
    const pets = (await list()).json as { name: string }[];
    expect(pets.map(({ name }) => name).toSorted()).toEqual(['Ada', 'Bo', 'Rex']);
  });

  test('PostgreSQL cancels a statement that waits too long for a lock, and stores nothing later', async () => {
    const before = (await list()).json;
    const locking = new pg.Client(databaseUrl);
    await locking.connect();
    await locking.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const blocked = await create('Late');
    expect(blocked.status).toBe(503);
    // 503 with Retry-After says that nothing was stored: PostgreSQL cancelled the statement itself.
    expect(blocked.header('Retry-After')).toBe('1');
    await locking.query('ROLLBACK');
    await locking.end();
    expect((await list()).json).toEqual(before);
  });

  test('a migration is refused there, and told where to run', async () => {
    expect(await runProgram(['prisma/migrate.ts'], { DATABASE_URL: bouncedUrl })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'migrate: DATABASE_URL leads to PgBouncer, where a migration is not safe: use the address of PostgreSQL itself\n',
    });
  });
});
