import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastMonths, readUsageMonths, readUseByService } from '../../gateway/operations/usage-months.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const description = (path: string, cost: number) => `openapi: 3.1.1
info: { title: Service, version: 1.0.0 }
paths:
  /${path}:
    get:
      operationId: ${path}
      summary: Some
      x-quota-cost: ${cost}
      responses: { '200': { description: Found, content: { application/json: {} } } }
`;

describe('use by service', { tags: ['redis-server'] }, () => {
  const stack = new AsyncDisposableStack();
  let server: RedisServer;
  let redis: RedisClient;
  let several: Service;
  let single: Service;
  let keys: ReturnType<typeof keyIssuer>;

  beforeAll(async () => {
    server = stack.use(await startRedisServer());
    const [boxesUpstream, reportsUpstream] = [
      stack.use(await startUpstream()),
      stack.use(await startUpstream()),
    ];
    const directory = stack.use(await temporaryDirectory());
    redis = await connectRedis(server.url);
    stack.defer(() => redis.disconnect());
    keys = keyIssuer(redis);
    const start = async (name: string, services: object) => {
      const file = join(directory.path, name);
      await writeFile(file, JSON.stringify({ services }));
      return stack.use(await startGateway({ REDIS_URL: server.url, SERVICES_FILE: file }));
    };
    await writeFile(join(directory.path, 'boxes.yaml'), description('boxes', 1));
    await writeFile(join(directory.path, 'reports.yaml'), description('reports', 5));
    const boxes = { description: 'boxes.yaml', urls: [boxesUpstream.url] };
    const reports = { description: 'reports.yaml', urls: [reportsUpstream.url] };
    several = await start('several.yaml', { boxes, reports });
    single = await start('single.yaml', { boxes });
  });
  afterAll(() => stack.disposeAsync());

  const session = () => ({ redis, now: Date.now });
  const get = async (path: string, { key }: IssuedKey, { url } = several) =>
    (await send(`${url}/v1/${path}`, { key })).status;
  const monthKey = ({ customerId }: IssuedKey) =>
    redisKeys.usageMonth(customerId, lastMonths(Date.now(), 1).join('').replace('-', ''));
  const fieldOf = (issued: IssuedKey, service: string) => redis.hget(monthKey(issued), `s:${service}`);
  const reported = { timeout: 20_000 };

  test('counts what each customer has used of each service, with units, and not what was refused', async () => {
    const acme = await keys.issue({ name: 'Acme', minute: 8, day: 100 });
    const other = await keys.issue({ name: 'Other' });
    expect(await get('boxes', acme)).toBe(200);
    expect(await get('reports', acme)).toBe(200);
    expect(await get('boxes', acme)).toBe(200);
    expect(await get('reports', acme)).toBe(429);
    expect(await get('nothing', acme)).toBe(404);
    expect(await get('reports', other)).toBe(200);
    await expect.poll(() => fieldOf(acme, 'boxes'), reported).toBe('2 2');
    await expect.poll(() => fieldOf(other, 'reports'), reported).toBe('1 5');
    const [month = ''] = lastMonths(Date.now(), 1);
    const rows = (await Array.fromAsync(readUseByService(session(), month))).flat();
    const [ofAcme, ofOther] = [
      [
        { service: 'reports', served: 1, units: 5 },
        { service: 'boxes', served: 2, units: 2 },
      ],
      [{ service: 'reports', served: 1, units: 5 }],
    ];
    expect(rows).toEqual([
      ...ofAcme.map((use) => Object.assign({ month, id: acme.customerId, name: 'Acme' }, use)),
      ...ofOther.map((use) => Object.assign({ month, id: other.customerId, name: 'Other' }, use)),
    ]);
    const [sums] = await readUsageMonths(session(), [month], () => {});
    expect(sums?.services).toEqual([
      { service: 'reports', served: 2, units: 10 },
      { service: 'boxes', served: 2, units: 2 },
    ]);
    // The request for nothing counts, too, and is for no service.
    expect(sums?.largest[0]).toMatchObject({ id: acme.customerId, served: 4, units: 8, services: ofAcme });
    expect(await redis.ttl(monthKey(acme))).toBeGreaterThan(400 * 86_400);
  });

  test('values that were edited by hand count as nothing, and are counted on from there', async () => {
    const issued = await keys.issue();
    await redis.hset(monthKey(issued), { 's:boxes': 'many', 's:reports': '7' });
    expect(await get('boxes', issued)).toBe(200);
    await expect.poll(() => fieldOf(issued, 'boxes'), reported).toBe('1 1');
    const [month = ''] = lastMonths(Date.now(), 1);
    const rows = (await Array.fromAsync(readUseByService(session(), month))).flat();
    expect(rows.filter(({ id }) => id === issued.customerId).map(({ service }) => service)).toEqual([
      'boxes',
    ]);
  });

  test('what was served without Redis is added when it is back', async () => {
    const issued = await keys.issue();
    expect(await get('boxes', issued)).toBe(200);
    await expect.poll(() => fieldOf(issued, 'boxes'), reported).toBe('1 1');
    server.signal('SIGSTOP');
    await expect.poll(async () => (await send(`${several.adminUrl}/readyz`)).text).toContain('unavailable');
    expect(await get('reports', issued)).toBe(200);
    server.signal('SIGCONT');
    await expect.poll(() => fieldOf(issued, 'reports'), reported).toBe('1 5');
  });

  test('a gateway with one service records none, since all is for that', async () => {
    const issued = await keys.issue();
    expect(await get('boxes', issued, single)).toBe(200);
    await single.stop();
    expect(await redis.hkeys(monthKey(issued))).not.toContain('s:boxes');
    expect(await redis.hget(monthKey(issued), 'open')).not.toBeNull();
  });
});
