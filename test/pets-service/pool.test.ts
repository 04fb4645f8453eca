import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../pets-service/database/database.ts';
import { migrate } from '../../prisma/migrate.ts';
import { send } from '../support/http/http.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { createDatabase } from '../support/stores/stores.ts';

describe('connections to PostgreSQL', { tags: ['postgresql'] }, () => {
  test('that are all busy make who waits for one get 503 and Retry-After, before those are free again', async () => {
    await using stack = new AsyncDisposableStack();
    const url = await createDatabase();
    const { adapter } = await openDatabase({ url, poolSize: 2, dataDirectory: '' });
    await migrate(adapter);
    const pets = stack.use(await servePets(adapter));
    const key = serviceToken('tests');
    const list = (limit: number) => send(`${pets.url}/v1/pets?limit=${limit}`, { key });
    const locking = new pg.Client(url);
    await locking.connect();
    stack.defer(() => locking.end());
    const watching = new pg.Client(url);
    await watching.connect();
    stack.defer(() => watching.end());

    await locking.query('BEGIN; LOCK TABLE pets IN ACCESS EXCLUSIVE MODE');
    let busyResponded = 0;
    // Of different pages, lest they share a query.
    const busy = [1, 2].map(async (limit) => {
      const response = await list(limit);
      busyResponded += 1;
      return response;
    });
    await expect
      .poll(async () => {
        const { rows } = await watching.query(
          `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return rows.length;
      })
      .toBe(2);
    const waited = await list(3);
    expect(waited.status).toBe(503);
    expect(waited.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(waited.header('Retry-After')).toBe('1');
    expect(busyResponded).toBe(0);

    await locking.query('ROLLBACK');
    for (const response of await Promise.all(busy)) expect(response.status).toBe(200);
    expect((await list(3)).status).toBe(200);
  });
});
