import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { maxCollectedBytes } from '../../gateway/upstream/exchange.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { metricOf } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { hasRedisServer } from '../support/stores/redis-server.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

interface LogLine {
  msg: string;
  [field: string]: unknown;
}

/** More would slow the embedded Redis down so much that it counts as unavailable. */
const burstLength = hasRedisServer ? 100 : 5;

/** A response of this size is streamed, so the client sees its beginning before its end arrives. */
const tooLargeToBuffer = 'x'.repeat(maxCollectedBytes + 1);

describe('observability of an instance', () => {
  const kit = shared(() => startGatewayKit({ LOG_LEVEL: 'info' }));

  const pets = (key: string, path = '/v1/pets') => send(`${kit.gateway.url}${path}`, { key });
  const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;
  const value = async (series: string) => (await metricOf(kit.gateway, series)) ?? 0;
  const logLines = () =>
    (kit.gateway.output().match(/^\{.*\}$/gm) ?? []).map((line) => JSON.parse(line) as LogLine);
  const accessLogLine = async (requestId: string) => {
    const find = () => logLines().find((line) => line['requestId'] === requestId && line.msg === 'request');
    await expect.poll(find).toBeDefined();
    return find();
  };

  describe('the access log', () => {
    test(
      'does not delay requests while nobody reads it, and loses no line',
      { tags: ['redis-server'] },
      async () => {
        const { key } = await kit.issue({ plan: 'enterprise', minute: 100_000, day: 100_000 });
        const requests = 1000;
        kit.gateway.pauseOutput();
        const ids = Array.from({ length: requests }, (_, index) => `late-${index}`);
        // More than the pipe buffers.
        for (const id of ids) {
          const response = await send(`${kit.gateway.url}/v1/pets`, { key, headers: { 'x-request-id': id } });
          expect(response.status).toBe(200);
        }
        kit.gateway.resumeOutput();
        await accessLogLine(`late-${requests - 1}`);
        const logged = new Set(logLines().map(({ requestId }) => requestId));
        expect(ids.filter((id) => !logged.has(id))).toEqual([]);
      },
    );

    test('has status 499 for a client that left before its response', async () => {
      const { key, id } = await kit.issue();
      kit.upstream.response = () => {};
      const left = new AbortController();
      const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'left-early' };
      const response = fetch(`${kit.gateway.url}/v1/pets`, { headers, signal: left.signal }).catch(() => {});
      await expect.poll(() => kit.upstream.seen.at(-1)?.headers['x-request-id']).toBe('left-early');
      left.abort();
      await response;
      kit.upstream.response = respondWithPets;
      const line = { status: 499, keyId: id, decision: 'allowed', cutOff: true };
      expect(await accessLogLine('left-early')).toMatchObject(line);
    });

    test('has one line per request, with its caller, decision and durations', async () => {
      const { key, id } = await kit.issue({ plan: 'pro' });
      const response = await send(`${kit.gateway.url}/v1/pets?limit=5`, {
        key,
        headers: { 'x-request-id': 'my-request.1' },
      });
      expect(response.header('X-Request-Id')).toBe('my-request.1');
      expect(kit.upstream.seen.at(-1)?.headers['x-request-id']).toBe('my-request.1');
      const number: unknown = expect.any(Number);
      const line = await accessLogLine('my-request.1');
      expect(line).toEqual({
        level: 30,
        time: number,
        service: 'gateway',
        requestId: 'my-request.1',
        method: 'GET',
        route: '/v1/pets',
        upstreamService: 'pets-service',
        status: 200,
        keyId: id,
        address: '127.0.0.1',
        plan: 'pro',
        decision: 'allowed',
        bytes: number,
        durationMs: number,
        upstreamMs: number,
        msg: 'request',
      });
      expect(line?.['bytes']).toBeGreaterThan('[]'.length);
      expect(line?.['durationMs']).toBeGreaterThanOrEqual(Number(line?.['upstreamMs']));
    });
  });

  describe('metrics', () => {
    test('count requests by route, method, status class and plan', async () => {
      const { key } = await kit.issue({ plan: 'business' });
      const counted = () =>
        Promise.all(
          [
            'gateway_requests_total{route="/v1/pets",method="GET",status="2xx",plan="business"}',
            'gateway_requests_total{route="unmatched",method="GET",status="4xx",plan="business"}',
            'gateway_errors_total{code="unknown_api_key"}',
          ].map(value),
        );
      const before = await counted();
      await pets(key);
      await pets(key, `/v1/${crypto.randomUUID()}`);
      await pets(generateApiKey());
      await expect.poll(counted).toEqual(before.map((count) => count + 1));
    });

    test('distinguish a response that was cut off from one that the client aborted', async () => {
      const { key } = await kit.issue({ plan: 'business' });
      const series = (status: string) =>
        `gateway_requests_total{route="/v1/pets",method="GET",status="${status}",plan="business"}`;
      kit.upstream.response = (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.write(tooLargeToBuffer, () => setTimeout(() => res.destroy(), 100));
      };
      await expect(pets(key)).rejects.toThrow(/closed|terminated|aborted/);
      await expect.poll(() => value(series('cut_off'))).toBe(1);
      kit.upstream.response = (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' });
        res.write(tooLargeToBuffer);
      };
      const headers = { authorization: `Bearer ${key}` };
      const controller = new AbortController();
      const started = await fetch(`${kit.gateway.url}/v1/pets`, { headers, signal: controller.signal });
      expect(started.status).toBe(200);
      controller.abort();
      await expect.poll(() => value(series('aborted'))).toBe(1);
      kit.upstream.response = respondWithPets;
    });

    test('count refusals and keys near their limit, by plan and window', async () => {
      const minuteLimited = await kit.issue({ plan: 'pro', minute: 20 });
      const dayLimited = await kit.issue({ plan: 'pro', day: 1 });
      for (let index = 0; index < 21; index += 1) await pets(minuteLimited.key);
      for (let index = 0; index < 2; index += 1) await pets(dayLimited.key);
      expect(await value('gateway_quota_refusals_total{plan="pro",window="minute"}')).toBe(1);
      expect(await value('gateway_quota_refusals_total{plan="pro",window="day"}')).toBe(1);
      // 18, 19 and 20 of 20.
      expect(await value('gateway_near_limit_total{plan="pro",window="minute"}')).toBe(3);
      expect(await value('gateway_near_limit_total{plan="pro",window="day"}')).toBe(1);
    });

    test('count a ban once, and the requests that it refuses', async () => {
      await kit.redis.hset(redisKeys.banPolicy, { graceSeconds: 0, strikes: 1, strikesPerLimit: 0 });
      const { key, id } = await kit.issue({ plan: 'business', minute: 1 });
      await expect.poll(async () => (await pets(key)).json).toMatchObject({ code: 'api_key_banned' });
      const burst = await Promise.all(Array.from({ length: burstLength }, () => pets(key)));
      expect(new Set(burst.map(({ status }) => status))).toEqual(new Set([429]));
      await kit.redis.hset(redisKeys.banPolicy, { graceSeconds: 10, strikes: 60, strikesPerLimit: 1 });
      expect(await value('gateway_bans_total{plan="business"}')).toBe(1);
      expect(await value('gateway_banned_requests_total{plan="business"}')).toBeGreaterThanOrEqual(2);
      const banLines = () => logLines().filter(({ msg }) => msg === 'API key is banned');
      await expect.poll(banLines).toMatchObject([{ keyId: id, seconds: 60, level: 40 }]);
      // A ban by another instance is logged once as well.
      const elsewhere = await kit.issue();
      await kit.redis.set(redisKeys.ban(elsewhere), 'leaked', 'PX', 60_000);
      await Promise.all(Array.from({ length: burstLength }, () => pets(elsewhere.key)));
      // The access log line of a request comes after its other lines.
      const last = await pets(elsewhere.key);
      await accessLogLine(last.header('X-Request-Id') ?? '');
      expect(banLines().filter(({ keyId }) => keyId === elsewhere.id)).toHaveLength(1);
      const endMs = async () => Number(await kit.redis.zscore(redisKeys.bans, id));
      await expect.poll(endMs).toBeGreaterThan(Date.now());
    });

    test('have a fixed number of series, whatever clients send', async () => {
      const { key } = await kit.issue();
      kit.upstream.response = respondWithPets;
      const countSeries = async () =>
        (await metrics()).split('\n').filter((line) => line.startsWith('gateway_')).length;
      await pets(key, '/v1/pets/1');
      await pets(key, '/v1/x');
      await send(`${kit.gateway.url}/v1/pets`, { method: 'PROPFIND', key });
      await expect
        .poll(() => value('gateway_requests_total{route="/v1/pets",method="other",status="4xx",plan="free"}'))
        .toBe(1);
      const before = await countSeries();
      for (let index = 0; index < 10; index += 1) {
        await pets(key, `/v1/pets/${index}00`);
        await pets(key, `/v1/${crypto.randomUUID()}`);
        await send(`${kit.gateway.url}/v1/pets`, { method: index % 2 === 0 ? 'MKCOL' : 'REPORT', key });
      }
      expect(await countSeries()).toBe(before);
      expect(await metrics()).not.toContain(key.slice(9));
    });
  });
});
