import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLastDays } from '../../gateway/control/usage/usage-record.ts';
import { redisKeys, type CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { createSimulatedTime } from '../support/checks/simulated-time.ts';
import { postJson, send } from '../support/http/http.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { redisStateOf } from '../support/kits/service.ts';
import { startServicesKit } from '../support/kits/services-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const responses = "responses: { '200': { description: Found, content: { application/json: {} } } }";
const description = `openapi: 3.1.1
info: { title: Boxes, version: 1.0.0 }
paths:
  /boxes:
    get: { operationId: listBoxes, summary: List boxes, ${responses} }
    post: { operationId: addBox, summary: Add a box, ${responses} }
  /reports:
    get: { operationId: report, summary: Report, x-quota-cost: 5, ${responses} }
  /archive:
    get:
      operationId: archive
      summary: Archive
      security: [{ apiKey: [boxes:archive] }]
      x-quota-cost: 500
      ${responses}
`;

describe('scopes and costs', { tags: ['redis-server'] }, () => {
  const upstream = shared(startUpstream);
  const kit = shared(() =>
    startServicesKit(async (_stack, directory) => {
      await writeFile(join(directory, 'boxes.yaml'), description);
      return { services: { boxes: { description: 'boxes.yaml', urls: [upstream.url] } } };
    }),
  );

  /** Without that of the archive, which small limits could not pay. */
  const scopes = ['boxes:read', 'boxes:write'];
  const session = () => sessionOf(kit.redis);
  const get = (path: string, key: string) => send(`${kit.gateway.url}/v1${path}`, { key });
  const add = (key: string) => postJson(`${kit.gateway.url}/v1/boxes`, key, {});
  const lastDay = async (id: CustomerId) => (await readLastDays(session(), id, 1)).at(-1);

  test('a key with a list of scopes may call their operations only, and is told which it lacks', async () => {
    const { key } = await kit.issue({ scopes: ['boxes:read'] });
    expect((await get('/boxes', key)).status).toBe(200);
    const before = upstream.seen.length;
    const refused = await add(key);
    expect(refused.json).toEqual({
      code: 'insufficient_scope',
      message: 'This API key lacks the scope boxes:write, which the operation needs.',
      status: 403,
    });
    expect(refused.header('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="boxes:write"');
    expect(upstream.seen).toHaveLength(before);
    // Like any response it costs one, and it says what is left.
    expect(refused.header('x-ratelimit-remaining')).toBe('58');
    expect((await get('/usage', key)).json).toMatchObject({ key: { scopes: ['boxes:read'] } });
  });

  test('a change of scopes is in force on the next request, and in the audit log', async () => {
    const { key, id } = await kit.issue({ scopes: ['boxes:read'] });
    expect((await add(key)).status).toBe(403);
    await kit.store.change(id, { scopes: ['boxes:read', 'boxes:write'] });
    expect((await add(key)).status).toBe(200);
    await kit.store.change(id, { scopes: ['boxes:write'] });
    expect((await get('/boxes', key)).status).toBe(403);
    await kit.store.change(id, { scopes: null });
    expect((await get('/boxes', key)).status).toBe(200);
    const [last] = await kit.redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', 1);
    expect(last?.[1].join(' ')).toMatch(/"scopes":\["boxes:write"\]/);
  });

  test('a scope that no operation needs is refused, and changes nothing', async () => {
    const { id } = await kit.issue({ scopes: ['boxes:read'] });
    // Gateways say which there are.
    await expect.poll(() => kit.redis.hlen(redisKeys.processStatuses)).toBe(1);
    await expect(kit.store.change(id, { scopes: ['boxes:raed'] })).rejects.toThrow(
      'no operation needs the scope boxes:raed; known are boxes:archive, boxes:read, boxes:write',
    );
    expect((await kit.store.show(id)).record.scopes).toEqual(['boxes:read']);
  });

  test('scopes that were edited into something else by hand widen nothing', async () => {
    const { key, customerId, keyHash } = await kit.issue({ scopes: ['boxes:read'] });
    expect((await get('/boxes', key)).status).toBe(200);
    for (const text of ['', ' ', 'boxes:write,boxes:read', '"all"']) {
      await kit.redis
        .multi()
        .hset(redisKeys.apiKey({ customerId, keyHash }), 'scopes', text)
        .hincrby(redisKeys.customer(customerId), 'rev', 1)
        .exec();
      expect((await add(key)).status).toBe(503);
    }
  });

  test('a request takes what it costs from each window; with less left it is refused and takes nothing', async () => {
    const { key, customerId } = await kit.issue({ minute: 12, day: 100, scopes });
    const first = await get('/reports', key);
    expect([first.status, first.header('ratelimit')?.replaceAll(/;t=\d+/g, '')]).toEqual([
      200,
      '"minute";r=7, "day";r=95',
    ]);
    expect((await get('/reports', key)).header('x-ratelimit-remaining')).toBe('2');
    const before = upstream.seen.length;
    const refused = await get('/reports', key);
    expect(refused.json).toEqual({
      code: 'rate_limit_exceeded',
      message:
        'The request costs 5, and 2 are left of the limit of 12 requests a minute. Retry after the time given in the Retry-After header.',
      status: 429,
    });
    expect(refused.header('x-ratelimit-remaining')).toBe('2');
    expect(Number(refused.header('retry-after'))).toBeGreaterThan(0);
    expect(upstream.seen).toHaveLength(before);
    for (const remaining of ['1', '0'])
      expect((await get('/boxes', key)).header('x-ratelimit-remaining')).toBe(remaining);
    expect((await get('/boxes', key)).status).toBe(429);
    expect(await lastDay(customerId)).toMatchObject({ served: 4, units: 12 });
    const { json } = await send(`${kit.gateway.url}/v1/usage?days=1`, { key });
    expect(json).toMatchObject({ minute: { used: 12 }, days: [{ served: 4, units: 12 }] });
  });

  test('a request that costs more than a limit is 403, without Retry-After, and counts as a refusal', async () => {
    const issued = await kit.issue();
    const { key, customerId } = issued;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const refused = await get('/archive', key);
      expect(refused.json).toEqual({
        code: 'cost_exceeds_limit',
        message:
          'The request costs 500, more than the limit of 60 requests a minute: this API key can never make it.',
        status: 403,
      });
      expect(refused.header('retry-after')).toBeUndefined();
      expect(refused.header('x-ratelimit-remaining')).toBe('60');
    }
    expect(kit.gateway.output()).toMatch(/"plan":"free","operation":"GET \/v1\/archive","units":500/);
    const counted = () => lastDay(customerId);
    await expect.poll(counted, { timeout: 15_000 }).toMatchObject({ served: 0, refused: 3 });
    // A program that goes on is banned, as after a 429.
    await createSimulatedTime(kit.redis, issued).moveTimes(11_000);
    for (let strike = 1; strike < 60; strike += 1) expect((await get('/archive', key)).status).toBe(403);
    expect(await get('/archive', key)).toMatchObject({ status: 429, json: { code: 'api_key_banned' } });
  });

  test('an own limit below the cost of what the key may call is refused', async () => {
    await expect(kit.issue({ minute: 499 })).rejects.toThrow(
      'GET /v1/archive costs 500, more than the limit of 499 a minute: raise it, or give the key scopes without boxes:archive',
    );
    const { id } = await kit.issue({ minute: 499, scopes });
    await expect(kit.store.change(id, { scopes: null })).rejects.toThrow('GET /v1/archive costs 500');
  });

  test('without Redis costs count locally, and are added to the record when it is back', async () => {
    const { key, customerId } = await kit.issue({ minute: 12, day: 100, scopes });
    expect((await get('/boxes', key)).status).toBe(200);
    kit.server.signal('SIGSTOP');
    await expect.poll(() => redisStateOf(kit.gateway)).toBe('unavailable');
    const statuses = [];
    for (let request = 0; request < 3; request += 1) statuses.push((await get('/reports', key)).status);
    kit.server.signal('SIGCONT');
    expect(statuses).toEqual([200, 200, 429]);
    await expect.poll(() => lastDay(customerId), { timeout: 20_000 }).toMatchObject({ served: 3, units: 11 });
  });
});
