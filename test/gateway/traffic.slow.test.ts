import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { recordedCounts } from '../support/checks/traffic-record.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes } from '../support/load/steady-load.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

/** A report comes within five seconds. */
const reported = { timeout: 20_000, interval: 100 };

describe('the record of traffic of two gateways with two workers each', { tags: ['redis-server'] }, () => {
  const server = shared(startRedisServer);
  const fleet = shared(() => startGatewayFleet(server.url, 2, () => ({ GATEWAY_WORKERS: '2' })));
  beforeAll(() => {
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

  test('has every request by status and plan, and every refusal', async () => {
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
    expect(limitedRequests + banned).toBe(codes.length - 3);
    await expect
      .poll(() => recordedCounts(fleet.redis), reported)
      .toEqual({
        '2xx:pro': 30,
        '4xx:pro': 5,
        '5xx:pro': 3,
        '4xx:none': 7,
        '2xx:free': 4,
        '4xx:free': 5,
        'refused:free': 5,
        '2xx:enterprise': 2,
        '4xx:enterprise': 4,
        'refused:enterprise': 4,
        '2xx:silver': 3,
        '4xx:silver': codes.length - 3,
        'refused:silver': codes.length - 3,
        'aborted:business': 4,
      });
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
      expect((await recordedCounts(fleet.redis))['2xx:restarted']).toBe(round * 40);
    }
  });
});
