import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createConsoleSessions } from '../../gateway/operations/console-sessions.ts';
import type { Traffic } from '../../gateway/operations/traffic.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { openEventStream } from '../support/http/event-stream.ts';
import { send } from '../support/http/http.ts';
import type { ConsoleApi } from '../support/kits/console-kit.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { openLive, signIn } from '../support/kits/live-kit.ts';
import { startGateway } from '../support/kits/service.ts';

const description: unknown = parse(
  readFileSync(new URL('../../gateway/admin/openapi.yaml', import.meta.url), 'utf8'),
);

/** Fails unless openapi.yaml describes the content. */
function expectDescribed(schema: string, content: unknown): void {
  const ajv = new Ajv2020({ strict: false, allErrors: true }).addFormat('date-time', true);
  ajv.addSchema(description as object, 'api');
  const validate = ajv.compile({ $ref: `api#/components/schemas/${schema}` });
  validate(content);
  expect(validate.errors).toBeNull();
}

describe('what happens now, over the API', () => {
  let kit: GatewayKit;
  let api: ConsoleApi;
  beforeAll(async () => {
    kit = await startGatewayKit();
    api = await signIn(kit.redis, kit.gateway);
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  test('is refused without a session', async () => {
    const { adminUrl } = kit.gateway;
    for (const path of ['/api/live', '/api/traffic?last=1h']) {
      const response = await send(`${adminUrl}${path}`);
      expect([response.status, (response.json as { code: string }).code]).toEqual([401, 'no_session']);
    }
  });

  test('is not compressed or stored on its way', async () => {
    const response = await fetch(`${kit.gateway.adminUrl}/api/live`, { headers: { Cookie: api.cookie } });
    expect(response.headers.get('content-type')).toMatch(/^text.event-stream/);
    expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
    expect(response.headers.get('content-encoding')).toBeNull();
    await response.body?.cancel();
  });

  test('says how this process is', async () => {
    await using live = await openLive(kit.redis, kit.gateway);
    await live.until(({ gateways, traffic }) => {
      expect(traffic).not.toBeNull();
      expect(gateways).toMatchObject([
        { state: 'ok', workers: 1, processes: [{ pid: kit.gateway.pid, worker: null, state: 'ok' }] },
      ]);
    });
    expectDescribed('LiveState', live.state());
    for (const point of live.stream.events<unknown[]>('history')[0] ?? [])
      expectDescribed('LivePoint', point);
    // Nobody but operators has a use for counters, and key hashes identify customers.
    expect(live.stream.text()).not.toMatch(/"counts"|"keysInUse"/);
  });

  test('expires in Redis when no gateway runs any more', async () => {
    const seconds = await kit.redis.pttl(redisKeys.processStatuses);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(15 * 60_000);
  });

  test('ends with the session', async () => {
    const { cookie } = await signIn(kit.redis, kit.gateway);
    await using stream = await openEventStream(`${kit.gateway.adminUrl}/api/live`, cookie);
    await expect.poll(() => stream.last('state'), { timeout: 5000 }).toBeDefined();
    const { redis } = kit;
    const audit = createAuditLog({ redis, who: 'tests' });
    await createConsoleSessions({ redis, audit, now: () => Date.now() }).endAll();
    await stream.ended;
    api = await signIn(kit.redis, kit.gateway);
  });

  test('does not keep a gateway from stopping', async () => {
    await using second = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: kit.upstream.url,
    });
    await using live = await openLive(kit.redis, second);
    await live.until(({ gateways }) => expect(gateways).toHaveLength(2));
    expect(await second.stop()).toBe(0);
    await live.stream.ended;
  });

  describe('/api/traffic', () => {
    const traffic = async (query: string) => api.send('GET', `/api/traffic?${query}`);

    test('has what clients have sent, in every range', async () => {
      const { key } = await kit.issue({ plan: 'pro' });
      for (let count = 0; count < 7; count += 1) await send(`${kit.gateway.url}/v1/pets`, { key });
      await send(`${kit.gateway.url}/v1/pets`);
      const points = { '1h': 360, '6h': 360, '24h': 288, '7d': 336 };
      for (const last of Object.keys(points)) {
        await expect
          .poll(async () => ((await traffic(`last=${last}&plan=pro`)).body as Traffic).total.requests, {
            // A reading of the last hour serves five seconds.
            timeout: last === '1h' ? 15_000 : 1000,
            interval: 500,
          })
          .toBe(7);
        const all = (await traffic(`last=${last}`)).body as Traffic;
        expectDescribed('Traffic', all);
        expect(all.total.byPlan).toMatchObject({ pro: { requests: 7 }, none: { requests: 1 } });
        const expected = points[last as keyof typeof points];
        expect(all.points.length - expected).toBeGreaterThanOrEqual(-1);
        expect(all.points.length - expected).toBeLessThanOrEqual(1);
      }
    });

    test('is read once for all consoles', async () => {
      const [one, other] = await Promise.all([traffic('last=24h'), traffic('last=24h')]);
      expect(one.body).toEqual(other.body);
      expect((await traffic('last=24h')).body).toEqual(one.body);
    });

    test('has a range of its own, in steps that the record has', async () => {
      const iso = (agoMs: number) =>
        new Date(Math.floor((Date.now() - agoMs) / 60_000) * 60_000).toISOString();
      const [minuteMs, hourMs] = [60_000, 3_600_000];
      const read = async (from: string, to: string) =>
        (await traffic(`from=${from}&to=${to}`)).body as Traffic;
      const [from, to] = [iso(30 * minuteMs), iso(20 * minuteMs)];
      const recent = await read(from, to);
      expect({ ...recent, total: recent.total.requests }).toMatchObject({ stepMs: 10_000, total: 0 });
      expect(recent.points.map(({ at }) => at)).toEqual(
        Array.from({ length: 60 }, (_, index) => new Date(Date.parse(from) + index * 10_000).toISOString()),
      );
      const old = await read(iso(2 * hourMs), iso(2 * hourMs - 10 * minuteMs));
      expect({ stepMs: old.stepMs, points: old.points.length }).toEqual({ stepMs: minuteMs, points: 10 });
      const all = await read(iso(10 * minuteMs), iso(-10 * minuteMs));
      expect(all.total.byPlan).toMatchObject({ pro: { requests: 7 } });
      for (const [begin, end] of [
        [to, from],
        [iso(8 * 24 * hourMs), to],
      ]) {
        expect((await traffic(`from=${begin}&to=${end}`)).body).toMatchObject({ code: 'invalid_operation' });
      }
    });

    test('shows all of a step at the end of a range, and not a part as a higher rate', async () => {
      const startMs = Math.floor((Date.now() - 600_000) / 60_000) * 60_000;
      await kit.redis.hset(redisKeys.trafficBucket('10s', startMs), { 'r2xx:pro': 50 });
      const [from, to] = [startMs - 60_000, startMs + 3000].map((ms) => new Date(ms).toISOString());
      const { points } = (await traffic(`from=${from}&to=${to}`)).body as Traffic;
      expect(points.at(-1)).toMatchObject({ seconds: 10, requests: 50 });
    });

    test.each([
      ['', 400, 'bad_request', 'last'],
      [`from=2026-11-25`, 400, 'bad_request', 'to'],
      ['last=2h', 400, 'bad_request', 'last'],
      ['last=1h&last=7d', 400, 'bad_request', 'last'],
      ['last=1h&from=0', 400, 'bad_request', 'from'],
      [`last=1h&plan=${'x'.repeat(65)}`, 400, 'bad_request', 'plan'],
      ['last=1h&plan=goldd', 422, 'invalid_operation', 'goldd'],
    ])('refuses "%s"', async (query, status, code, named) => {
      const response = await traffic(query);
      expect(response.status).toBe(status);
      expect(response.body).toMatchObject({ code, message: expect.stringContaining(named) as string });
    });
  });
});
