import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { recordedOf, recordedTraffic } from '../support/checks/traffic-record.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startGateway } from '../support/kits/service.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

/** A report comes within six seconds, or twelve if the one before failed. */
const reported = { timeout: 20_000, interval: 100 };

describe('the record of traffic of two gateways with two workers each', { tags: ['redis-server'] }, () => {
  let server: RedisServer;
  let fleet: GatewayFleet;

  beforeAll(async () => {
    server = await startRedisServer();
    fleet = await startGatewayFleet(server.url, 2, () => ({ GATEWAY_WORKERS: '2' }));
    fleet.upstream.response = (req, res, body) => {
      const { searchParams } = new URL(req.url ?? '', 'http://upstream');
      const status = Number(searchParams.get('cursor') ?? 200);
      // Never responds.
      if (status === 0) return;
      if (status === 200) return respondWithPets(req, res);
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ code: 'internal_error', message: body, status }));
    };
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Makes a plan as redis-cli would. */
  const createPlan = (name: string, minute: number) =>
    server.redis.hset(redisKeys.plan(name), { minute, day: 100_000 });

  let turn = 0;
  /** Sends a request to the next gateway, on a connection of its own, which goes to the next worker. */
  function request(key?: string, cursor?: number): Promise<ClientResponse> {
    const url = fleet.gateways[(turn += 1) % fleet.gateways.length]?.url;
    const query = cursor === undefined ? '' : `?cursor=${cursor}`;
    const headers = { connection: 'close' };
    return send(`${url}/v1/pets${query}`, key === undefined ? { headers } : { headers, key });
  }

  const repeat = (times: number, call: () => Promise<ClientResponse>) =>
    Promise.all(Array.from({ length: times }, call));
  const none = { bans: 0, bannedRequests: 0, localDecisions: 0, refusals: { minute: 0, day: 0 } };

  test('has every request by status and plan, every refusal and every ban', async () => {
    await server.redis.hset(redisKeys.banPolicy, { graceSeconds: 0, strikes: 20, strikesPerLimit: 0 });
    await createPlan('silver', 3);
    const [pro, business, limited, daily, abusive] = await Promise.all([
      fleet.issue({ plan: 'pro' }),
      fleet.issue({ plan: 'business' }),
      fleet.issue({ plan: 'free', minute: 4 }),
      fleet.issue({ plan: 'enterprise', minute: 100, day: 2 }),
      fleet.issue({ plan: 'silver' }),
    ]);
    await repeat(30, () => request(pro.key));
    await repeat(5, () => request(pro.key, 404));
    await repeat(3, () => request(pro.key, 500));
    await repeat(7, () => request());
    await repeat(9, () => request(limited.key));
    await repeat(6, () => request(daily.key));
    const codes: unknown[] = [];
    while (codes.filter((code) => code === 'api_key_banned').length < 5) {
      const { status, json } = await request(abusive.key);
      codes.push(status === 200 ? 'served' : (json as { code: string }).code);
    }
    const stuck = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const socket = connect(fleet.gateways[index % 2]?.port ?? 0, '127.0.0.1');
        socket.write(
          `GET /v1/pets?cursor=0 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${business.key}\r\n\r\n`,
        );
        return socket;
      }),
    );
    await expect
      .poll(() => fleet.upstream.seen.filter(({ url }) => url.endsWith('cursor=0')))
      .toHaveLength(4);
    for (const socket of stuck) socket.resetAndDestroy();

    const outcomes = countOutcomes(codes.map(String));
    const limitedRequests = outcomes['rate_limit_exceeded'] ?? 0;
    const banned = outcomes['api_key_banned'] ?? 0;
    const expected = {
      pro: { ...none, requests: 38, byStatus: { '2xx': 30, '4xx': 5, '5xx': 3 } },
      none: { ...none, requests: 7, byStatus: { '4xx': 7 } },
      anonymous: { ...none, requests: 0, byStatus: {}, unauthenticated: 7 },
      free: {
        ...none,
        requests: 9,
        byStatus: { '2xx': 4, '4xx': 5 },
        refusals: { minute: 5, day: 0 },
      },
      enterprise: {
        ...none,
        requests: 6,
        byStatus: { '2xx': 2, '4xx': 4 },
        refusals: { minute: 0, day: 4 },
      },
      silver: {
        ...none,
        requests: codes.length,
        byStatus: { '2xx': 3, '4xx': codes.length - 3 },
        refusals: { minute: limitedRequests, day: 0 },
        bans: 1,
        bannedRequests: banned,
      },
      business: { ...none, requests: 4, byStatus: { aborted: 4 } },
    };
    expect(limitedRequests + banned).toBe(codes.length - 3);
    await expect.poll(async () => (await recordedTraffic(fleet.redis)).byPlan, reported).toEqual(expected);
    const { requests, latencyMs } = await recordedTraffic(fleet.redis);
    expect(requests).toBe(64 + codes.length);
    expect(latencyMs.served?.p50).toBeGreaterThan(0);
    expect(latencyMs.served?.p99).toBeGreaterThanOrEqual(latencyMs.served?.p50 ?? Infinity);
  });

  test('expires: buckets of ten seconds after an hour, those of a minute after seven days', async () => {
    const keys = await server.redis.keys('gw:{traffic}:*');
    const kept = await Promise.all(
      keys.map(async (key) => {
        const [, resolution = '', start] = /^gw:\{traffic\}:(\w+):(\d+)$/.exec(key) ?? [];
        return { resolution, seconds: (await server.redis.expiretime(key)) - Number(start) };
      }),
    );
    const distinct = new Set(kept.map(({ resolution, seconds }) => `${resolution} ${seconds}`));
    distinct.delete(' NaN');
    expect([...distinct].toSorted()).toEqual(['10s 3910', '1m 608460']);
    const ttls = await Promise.all(keys.map((key) => server.redis.ttl(key)));
    expect(Math.min(...ttls)).toBeGreaterThan(0);
  });

  test('is complete when a gateway has shut down', async () => {
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: fleet.upstream.url, GATEWAY_WORKERS: '2' };
    await createPlan('restarted', 1000);
    const { key } = await fleet.issue({ plan: 'restarted' });
    for (const round of [1, 2]) {
      await using gateway = await startGateway(env);
      const responses = await repeat(40, () =>
        send(`${gateway.url}/v1/pets`, { key, headers: { connection: 'close' } }),
      );
      expect(countOutcomes(responses.map(({ status }) => status))).toEqual({ 200: 40 });
      expect(await gateway.stop()).toBe(0);
      expect(await recordedOf(fleet.redis, 'restarted')).toMatchObject({ byStatus: { '2xx': round * 40 } });
    }
  });

  test('has every request of an outage of Redis afterwards', async () => {
    await createPlan('outage', 100_000);
    const { key } = await fleet.issue({ plan: 'outage' });
    // All four workers know the key.
    await repeat(16, () => request(key));
    let sent = 16;
    const load = startLoad(
      4,
      async () => {
        sent += 1;
        return (await request(key)).status;
      },
      10,
    );
    await expect.poll(() => load.outcomes.length).toBeGreaterThan(50);
    await server.kill();
    const duringOutage = load.outcomes.length + 300;
    await expect.poll(() => load.outcomes.length, { timeout: 20_000 }).toBeGreaterThan(duringOutage);
    await server.restart();
    await expect.poll(() => fleet.redisStates(), { timeout: 5000 }).toEqual(['ok', 'ok']);
    await load.stop();
    await expect.poll(async () => (await recordedOf(fleet.redis, 'outage'))?.requests, reported).toBe(sent);
    expect((await recordedOf(fleet.redis, 'outage'))?.localDecisions).toBeGreaterThan(250);
  });
});
