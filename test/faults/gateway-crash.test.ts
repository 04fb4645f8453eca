import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

test('killing a gateway fails its requests in flight and nothing else', async () => {
  await using redis = await startAnyRedis();
  await using fleet = await startGatewayFleet(redis.url, 2);
  const [killedGateway, otherGateway] = fleet.gateways;
  if (killedGateway === undefined || otherGateway === undefined) throw new Error('expected two gateways');
  const [heldKey, loadKey] = await Promise.all([
    fleet.issue({ plan: 'business', name: 'held' }),
    fleet.issue({ minute: 10_000, day: 10_000 }),
  ]);
  let arrived = 0;
  let aborted = 0;
  fleet.upstream.response = (req, res) => {
    if (req.headers['prefer'] === undefined) return respondWithPets(req, res);
    arrived += 1;
    res.once('close', () => {
      aborted += 1;
    });
  };
  const load = startKeyLoad([otherGateway.url], [loadKey.key]);
  const pets = `${killedGateway.url}/v1/pets`;
  const inFlight = Array.from({ length: 7 }, () =>
    send(pets, { key: heldKey.key, headers: { Prefer: 'hold' } }).then(
      ({ status }) => status,
      () => 'failed',
    ),
  );
  await expect.poll(() => arrived).toBe(7);
  killedGateway.signal('SIGKILL');
  expect(await Promise.all(inFlight)).toEqual(Array(7).fill('failed'));
  // The upstream sees all seven connections close.
  await expect.poll(() => aborted).toBe(7);
  await load.more(50);

  // The other gateway continues from the counters of both.
  const nextResponse = await send(`${otherGateway.url}/v1/pets`, { key: heldKey.key });
  expect(nextResponse.status).toBe(200);
  expect(nextResponse.header('X-RateLimit-Remaining')).toBe(String(1000 - 8));
  await load.stop();
  expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await dayUsage(fleet.redis, loadKey.customerId)).toBe(load.outcomes.length);
});
