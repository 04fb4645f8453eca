import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readKeyUse } from '../../gateway/quota/key-use.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { earlyInMinute } from '../support/load/early-in-minute.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('entity tags and 304', () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit();
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  const pets = () => `${kit.gateway.url}/v1/pets`;
  const ask = (key: string, condition: string, method = 'GET') =>
    send(pets(), { key, method, headers: { 'if-none-match': condition } });
  const issue = () => kit.issue({ minute: 60 });

  async function tagged() {
    kit.upstream.response = respondWithPets;
    const issued = await issue();
    const response = await send(pets(), { key: issued.key });
    return { ...issued, response, tag: response.header('etag') ?? '' };
  }

  test('a GET has a weak tag that follows from the content', async () => {
    const { key, tag, response } = await tagged();
    expect(response.status).toBe(200);
    expect(tag).toMatch(/^W\/"\w+-\w+"$/);
    expect((await send(pets(), { key })).header('etag')).toBe(tag);
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1}]');
    };
    const changed = await ask(key, tag);
    expect([changed.status, changed.text]).toEqual([200, '[{"id":1}]']);
    expect(changed.header('etag')).not.toBe(tag);
  });

  test('a page with the same content that now has a next one is not what the client has', async () => {
    const { key, tag } = await tagged();
    kit.upstream.response = (_req, res) => {
      const headers = { 'content-type': 'application/json', link: '</v1/pets?after=2>; rel="next"' };
      res.writeHead(200, headers).end('[]');
    };
    const changed = await ask(key, tag);
    expect([changed.status, changed.header('link')]).toEqual([200, expect.stringContaining('rel="next"')]);
    expect((await ask(key, changed.header('etag') ?? '')).status).toBe(304);
  });

  test('a 304 of the service with the length of its 200 costs nothing either', async () => {
    const { key, customerId } = await tagged();
    for (const length of ['7', '200000']) {
      kit.upstream.response = (_req, res) => {
        res.writeHead(304, { etag: '"7"', 'content-length': length }).end();
      };
      const { status, header } = await ask(key, '"7"');
      expect([length, status, header('etag'), header('x-ratelimit-remaining')]).toEqual([
        length,
        304,
        '"7"',
        '59',
      ]);
    }
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
  });

  test.each(['GET', 'HEAD'])('%s of what the client has is 304 and costs nothing', async (method) => {
    const { key, customerId, tag, response } = await tagged();
    for (let index = 0; index < 3; index += 1) {
      const current = await ask(key, tag, method);
      expect([current.status, current.text]).toEqual([304, '']);
      expect(current.headers).toMatchObject({
        etag: tag,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-ratelimit-remaining': '59',
        'x-ratelimit-reset': response.header('x-ratelimit-reset'),
      });
      expect(current.header('ratelimit')).toMatch(/"minute";r=59;t=\d+, "day";r=\d+;t=\d+/);
      for (const name of ['content-type', 'content-length', 'content-encoding']) {
        expect(current.headers).not.toHaveProperty(name);
      }
    }
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
    const usage = await send(`${kit.gateway.url}/v1/usage?days=1`, { key });
    expect(usage.json).toMatchObject({ minute: { used: 1 }, day: { used: 1 }, days: [{ served: 1 }] });
  });

  test.each<[string, (tag: string) => string, number]>([
    ['the strong form', (tag) => tag.slice(2), 304],
    ['a list that has it', (tag) => `"a", W/"b,c",${tag}`, 304],
    ['an asterisk', () => '*', 304],
    ['another tag', () => 'W/"other"', 200],
    ['a tag that contains it', (tag) => `"x${tag.slice(3, -1)}"`, 200],
    ['a tag without quotes', (tag) => tag.slice(3, -1), 200],
  ])('If-None-Match with %s', async (_name, condition, status) => {
    const { key, tag } = await tagged();
    const response = await ask(key, condition(tag));
    expect([response.status, response.header('etag')]).toEqual([status, tag]);
  });

  test('the use of the key has it as a request that was not served', async () => {
    const { key, tag, customerId, keyHash } = await tagged();
    expect((await ask(key, tag)).status).toBe(304);
    await expect
      .poll(() => readKeyUse(kit.redis, { customerId, keyHash }), { timeout: 20_000 })
      .toMatchObject({ served: 1, addresses: [{ requests: 2 }] });
  });

  test('HEAD has the tag of GET if it has a condition', async () => {
    const { key, tag, customerId } = await tagged();
    const response = await ask(key, '"other"', 'HEAD');
    expect(response).toMatchObject({ status: 200, text: '' });
    expect(response.headers).toMatchObject({ etag: tag, 'content-length': '2' });
    expect(kit.upstream.seen.at(-1)?.method).toBe('GET');
    expect((await send(pets(), { key, method: 'HEAD' })).headers).not.toHaveProperty('etag');
    expect(kit.upstream.seen.at(-1)?.method).toBe('HEAD');
    expect(await dayUsage(kit.redis, customerId)).toBe(3);
  });

  test('a tag of the service passes, and its own 304 costs nothing either', async () => {
    const { key, customerId } = await tagged();
    kit.upstream.response = (req, res) => {
      const isCurrent =
        req.headers['if-none-match'] === '"7"' || req.headers['if-modified-since'] !== undefined;
      if (isCurrent) res.writeHead(304, { etag: '"7"' }).end();
      else res.writeHead(200, { 'content-type': 'application/json', etag: '"7"' }).end('[]');
    };
    expect((await send(pets(), { key })).header('etag')).toBe('"7"');
    expect(await ask(key, '"7"')).toMatchObject({ status: 304, headers: { etag: '"7"' } });
    // A service that ignores the condition.
    expect(await ask(key, '"6", "7"')).toMatchObject({ status: 304, headers: { etag: '"7"' } });
    const since = { 'if-modified-since': 'Thu, 26 Nov 2026 00:00:00 GMT' };
    expect(await send(pets(), { key, headers: since })).toMatchObject({ status: 304 });
    expect(await dayUsage(kit.redis, customerId)).toBe(2);
  });

  test('only a 200 to GET and HEAD has a tag, and no condition makes another one free', async () => {
    const { key, customerId } = await tagged();
    kit.upstream.response = (req, res) => {
      const status = req.method === 'POST' ? 201 : 404;
      res.writeHead(status, { 'content-type': 'application/json' }).end('{"id":1}');
    };
    const missing = await ask(key, '*');
    expect(missing.status).toBe(404);
    expect(missing.headers).not.toHaveProperty('etag');
    const created = await postJson(pets(), key, {}, { 'if-none-match': '*' });
    expect(created.status).toBe(201);
    expect(created.headers).not.toHaveProperty('etag');
    // On a POST it means something to the service.
    expect(kit.upstream.seen.at(-1)?.headers).toMatchObject({ 'if-none-match': '*' });
    expect(await dayUsage(kit.redis, customerId)).toBe(3);
  });

  test('a response that is streamed has no tag, and a conditional HEAD does not wait for its end', async () => {
    const { key } = await tagged();
    let isGet = true;
    kit.upstream.response = (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.write(`["${'x'.repeat(200_000)}`);
      // The end follows for GET only: the gateway closes the connection of a HEAD before.
      if (isGet) res.end('"]');
    };
    expect((await send(pets(), { key })).headers).not.toHaveProperty('etag');
    isGet = false;
    expect(await ask(key, '"a"', 'HEAD')).toMatchObject({ status: 200, text: '' });
  });

  // The embedded Redis needs longer for so many at once than a request waits for it.
  const onServer = { tags: ['redis-server'] };
  test('many at once cost nothing in the end, and never more than the limit', onServer, async () => {
    const { key, customerId, tag } = await tagged();
    const responses = await Promise.all(Array.from({ length: 150 }, () => ask(key, tag)));
    const statuses = new Set(responses.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 304 && status !== 429)).toEqual([]);
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
    expect(await ask(key, tag)).toMatchObject({ status: 304, headers: { 'x-ratelimit-remaining': '59' } });
  });

  test('what was decided without Redis stays charged', { tags: ['redis-server'] }, async () => {
    await earlyInMinute();
    const { key, customerId, tag } = await tagged();
    kit.server.signal('SIGSTOP');
    const remaining = [];
    for (let index = 0; index < 3; index += 1) {
      const response = await ask(key, tag);
      remaining.push([response.status, response.header('x-ratelimit-remaining')]);
    }
    kit.server.signal('SIGCONT');
    expect(remaining).toEqual([
      [304, '59'],
      [304, '58'],
      [304, '57'],
    ]);
    await expect.poll(() => dayUsage(kit.redis, customerId)).toBe(4);
  });
});
