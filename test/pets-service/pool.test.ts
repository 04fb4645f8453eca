import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../pets-service/database/database.ts';
import { migrate } from '../../prisma/migrate.ts';
import { send } from '../support/http/http.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { createDatabase } from '../support/stores/stores.ts';

describe('connections to PostgreSQL', { tags: ['postgresql'] }, () => {
  test('while all are busy, a request that waits for one gets 503 and Retry-After', async () => {
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
    let busyResponses = 0;
    // Different pages, so that the requests do not share a query.
    const busy = [1, 2].map(async (limit) => {
      const response = await list(limit);
      busyResponses += 1;
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
    const waiting = await list(3);
    expect(waiting.status).toBe(503);
    expect(waiting.json).toMatchObject({ code: 'service_unavailable', status: 503 });
    expect(waiting.header('Retry-After')).toBe('1');
    expect(busyResponses).toBe(0);

    await locking.query('ROLLBACK');
    for (const response of await Promise.all(busy)) expect(response.status).toBe(200);
    expect((await list(3)).status).toBe(200);
  });
});
