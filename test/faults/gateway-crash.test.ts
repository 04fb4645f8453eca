import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { startKeyLoad } from '../support/load/key-load.ts';
import { dayUsed } from '../support/stores/day-counter.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

test('of a gateway that is killed, the requests in flight fail and nothing else', async () => {
  await using redis = await startAnyRedis();
  await using fleet = await startGatewayFleet(redis.url, 2);
  const [doomed, other] = fleet.gateways;
  if (doomed === undefined || other === undefined) throw new Error('there are not two gateways');
  const [held, busy] = await Promise.all([
    fleet.issue({ plan: 'business', name: 'held' }),
    fleet.issue({ minute: 10_000, day: 10_000 }),
  ]);
  let arrived = 0;
  let aborted = 0;
  fleet.upstream.response = (req, res) => {
    if (req.headers['x-hold'] === undefined) return respondWithPets(req, res);
    arrived += 1;
    res.once('close', () => {
      aborted += 1;
    });
  };
  const load = startKeyLoad([other.url], [busy.key]);
  const pets = `${doomed.url}/v1/pets`;
  const inFlight = Array.from({ length: 7 }, () =>
    send(pets, { key: held.key, headers: { 'x-hold': 'yes' } }).then(
      ({ status }) => status,
      () => 'failed',
    ),
  );
  await expect.poll(() => arrived).toBe(7);
  doomed.signal('SIGKILL');
  expect(await Promise.all(inFlight)).toEqual(Array(7).fill('failed'));
  // The pets service is not left waiting for anybody.
  await expect.poll(() => aborted).toBe(7);
  await load.more(50);

  // The other one goes on from what both have counted.
  const next = await send(`${other.url}/v1/pets`, { key: held.key });
  expect(next.status).toBe(200);
  expect(next.header('X-RateLimit-Remaining')).toBe(String(1000 - 8));
  await load.stop();
  expect(new Set(load.outcomes.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await dayUsed(fleet.redis, busy.keyHash)).toBe(load.outcomes.length);
});
