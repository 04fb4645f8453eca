import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken } from '../../gateway/upstream/internal-token.ts';
import { findPrivateKey } from '../../gateway/upstream/internal-token-keys.ts';
import { postJson, send } from '../support/http.ts';
import { type PostgresServer, startPostgresServer } from '../support/postgres-server.ts';
import { type Service, startPetsService } from '../support/service.ts';
import { postgresMissing } from '../support/stores.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const missing = postgresMissing();
if (missing !== undefined) console.warn(`tests of a PostgreSQL that goes away are skipped: ${missing}`);

describe.skipIf(missing !== undefined)('PostgreSQL goes away and comes back', () => {
  let stack: AsyncDisposableStack;
  let postgres: PostgresServer;
  let databaseUrl: string;
  let service: Service;
  let token: string;

  beforeAll(async () => {
    await using starting = new AsyncDisposableStack();
    const directory = starting.use(await temporaryDirectory());
    postgres = starting.use(await startPostgresServer());
    databaseUrl = await postgres.createDatabase('pets');
    service = starting.use(
      await startPetsService({
        DATA_DIR: directory.path,
        DATABASE_URL: databaseUrl,
        DATABASE_POOL_SIZE: '2',
      }),
    );
    token = issueServiceToken(findPrivateKey(undefined, directory.path), 'tests', 600);
    stack = starting.move();
  });

  afterAll(() => stack.disposeAsync());

  const list = () => send(`${service.url}/v1/pets?limit=100`, { key: token });
  const create = (name: string) => postJson(`${service.url}/v1/pets`, token, { name, categoryId: 1 });
  const createKeyed = (name: string, key: string) =>
    postJson(`${service.url}/v1/pets`, token, { name, categoryId: 1 }, { 'Idempotency-Key': key });
  const find = (id: number) => send(`${service.url}/v1/pets/${id}`, { key: token });
  const names = async () => ((await list()).json as { name: string }[]).map(({ name }) => name);
  const database = async () => ((await send(`${service.url}/readyz`)).json as { database: string }).database;

  test('killed: 503 while it is away, recovery without a restart, and what was created is still there', async () => {
    expect((await create('Before')).status).toBe(201);
    await postgres.kill();
    for (const ask of [
      list,
      () => find(1),
      () => create('Meanwhile'),
      () => createKeyed('Meanwhile', 'once'),
    ]) {
      const answer = await ask();
      expect(answer.status).toBe(503);
      expect(answer.json).toMatchObject({ code: 'service_unavailable', status: 503 });
      expect(answer.header('Retry-After')).toBe('1');
    }
    expect(await database()).toBe('unavailable');
    expect((await send(`${service.url}/readyz`)).status).toBe(200);
    await postgres.restart();
    await expect.poll(async () => (await list()).status).toBe(200);
    expect(await names()).toContain('Before');
    expect(await names()).not.toContain('Meanwhile');
    expect((await createKeyed('Meanwhile', 'once')).status).toBe(201);
    expect(await database()).toBe('ok');
  });

  test('paused: nothing hangs, and service is normal afterwards', async () => {
    await list();
    await postgres.pause();
    const [state, ...answers] = await Promise.all([
      database(),
      list(),
      find(1),
      create('Paused'),
      createKeyed('Paused', 'paused'),
    ]);
    expect(state).toBe('unavailable');
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    await postgres.resume();
    await expect.poll(async () => (await list()).status).toBe(200);
  });

  test('killed in the middle of creates: only the one with a key is to be repeated', async () => {
    const client = new pg.Client(databaseUrl);
    // It goes away with the server.
    client.on('error', () => {});
    await client.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const answers = Promise.all([create('Lost'), createKeyed('Lost', 'lost')]);
    const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted';
    await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(2);
    await postgres.kill();
    const [unkeyed, keyed] = await answers;
    expect([unkeyed.status, keyed.status]).toEqual([503, 503]);
    expect(unkeyed.header('Retry-After')).toBeUndefined();
    expect(keyed.header('Retry-After')).toBe('1');
    await postgres.restart();
    await expect.poll(async () => (await createKeyed('Lost', 'lost')).status).toBe(201);
  });

  test('a create that waits for a lock is given up, said to be 503, and not there afterwards', async () => {
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await client.query('BEGIN');
    await client.query('LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const answer = await create('Locked out');
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({ code: 'service_unavailable' });
    await client.query('COMMIT');
    await client.end();
    expect(await names()).not.toContain('Locked out');
  });
});
