import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { earlyInMinute } from '../support/load/early-in-minute.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

describe('a failure of the gateway', () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit({ UPSTREAM_TIMEOUT_MS: '1000' });
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  const pets = () => `${kit.gateway.url}/v1/pets`;
  const minuteOf = ({ header }: ClientResponse) => /"minute";r=(\d+)/.exec(header('RateLimit') ?? '')?.[1];

  test('costs nothing, and its headers show that', async () => {
    await earlyInMinute();
    const { key, customerId } = await kit.issue({ minute: 10 });
    const isServed = async () => {
      kit.upstream.response = respondWithPets;
      return send(pets(), { key });
    };
    expect(minuteOf(await isServed())).toBe('9');
    kit.upstream.response = (req) => req.socket.destroy();
    const broken = await postJson(pets(), key, {});
    expect([broken.status, minuteOf(broken), broken.header('X-RateLimit-Remaining')]).toEqual([
      502,
      '9',
      '9',
    ]);
    kit.upstream.response = () => {};
    const late = await send(pets(), { key });
    expect([late.status, minuteOf(late)]).toEqual([504, '9']);
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
    expect(minuteOf(await isServed())).toBe('8');
    const usage = await send(`${kit.gateway.url}/v1/usage?days=1`, { key });
    expect(usage.json).toMatchObject({ minute: { used: 2 }, day: { used: 2 }, days: [{ served: 2 }] });
  });

  test('that the service responds with itself costs as any other response', async () => {
    const { key, customerId } = await kit.issue();
    kit.upstream.response = (_req, res) => {
      res.writeHead(503, { 'content-type': 'application/json' });
      res.end('{"code":"service_unavailable","message":"Later.","status":503}');
    };
    expect((await send(pets(), { key })).status).toBe(503);
    expect(await dayUsage(kit.redis, customerId)).toBe(1);
  });

  test('of a service that cannot be reached costs nothing', async () => {
    const { key, customerId } = await kit.issue();
    await using gateway = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: `http://127.0.0.1:${await freePort()}`,
    });
    for (let times = 0; times < 10; times += 1) {
      expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(503);
    }
    expect(await dayUsage(kit.redis, customerId)).toBe(0);
  });

  test('stays charged where Redis did not decide', { tags: ['redis-server'] }, async () => {
    await earlyInMinute();
    const { key, customerId } = await kit.issue({ minute: 60 });
    kit.upstream.response = respondWithPets;
    await send(pets(), { key });
    kit.upstream.response = (req) => req.socket.destroy();
    kit.server.signal('SIGSTOP');
    const { status } = await postJson(pets(), key, {});
    kit.server.signal('SIGCONT');
    expect(status).toBe(502);
    await expect.poll(() => dayUsage(kit.redis, customerId)).toBe(2);
  });
});
