import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../pets-service/database/database.ts';
import { migrate } from '../../prisma/migrate.ts';
import { postJson, send } from '../support/http/http.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { fresh } from '../support/kits/shared.ts';
import { together } from '../support/kits/together.ts';
import { createDatabase } from '../support/stores/stores.ts';

describe('connections to PostgreSQL', { tags: ['postgresql'] }, () => {
  const key = serviceToken('tests');
  /** A service with two connections for reads and two for writes, beside two of the test. */
  const kit = fresh(() =>
    together(async (stack) => {
      const url = await createDatabase();
      const database = await openDatabase({ DATABASE_URL: url, DATABASE_POOL_SIZE: 4, DATA_DIR: '' });
      await migrate(database.writes);
      const pets = stack.use(await servePets(database));
      async function connect(): Promise<pg.Client> {
        const client = new pg.Client(url);
        await client.connect();
        stack.defer(() => client.end());
        return client;
      }
      return { pets, locking: await connect(), watching: await connect() };
    }),
  );

  async function countBlocked(): Promise<number> {
    const { rows } = await kit.watching.query(
      `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return rows.length;
  }

  const list = (limit: number) => send(`${kit.pets.url}/v1/pets?limit=${limit}`, { key });
  const create = (name: string, headers = {}) =>
    postJson(`${kit.pets.url}/v1/pets`, key, { name, categoryId: 1 }, headers);

  test('while all are busy, a request that waits for one gets 503 and Retry-After', async () => {
    await kit.locking.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    const busy = [list(1)];
    await expect.poll(countBlocked).toBe(1);
    busy.push(list(2));
    await expect.poll(countBlocked).toBe(2);
    const waiting = await list(3);
    expect(waiting).toMatchObject({ status: 503, json: { code: 'service_unavailable', status: 503 } });
    expect(waiting.header('Retry-After')).toBe('1');
    expect(await countBlocked()).toBe(2);

    await kit.locking.query('ROLLBACK');
    for (const response of await Promise.all(busy)) expect(response.status).toBe(200);
    expect((await list(3)).status).toBe(200);
  });

  test('creates that wait for a lock do not block reads', async () => {
    const rex = await create('Rex');
    await kit.locking.query('BEGIN; LOCK TABLE pets IN SHARE ROW EXCLUSIVE MODE');
    const creates = [1, 2, 3, 4, 5, 6, 7, 8].map((number) =>
      create(`Pet ${number}`, number % 2 ? { 'Idempotency-Key': `key-${number}` } : {}),
    );
    await expect.poll(countBlocked).toBe(2);
    for (let limit = 1; limit <= 20; limit += 1) {
      expect((await list(limit)).status).toBe(200);
      expect((await send(`${kit.pets.url}${rex.header('Location')}`, { key })).status).toBe(200);
    }
    await kit.locking.query('ROLLBACK');
    for (const { status } of await Promise.all(creates)) expect([201, 503]).toContain(status);
    expect((await create('Mia')).status).toBe(201);
  });
});
