import { describe, expect, test } from 'vitest';
import type { TrafficPoint } from '../../gateway/control/usage/traffic.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { signIn } from '../support/kits/live-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('what happens now, over the API', () => {
  const kit = shared(startGatewayKit);
  const api = shared(() => signIn(kit.redis, kit.gateway));

  test('has the last 24 hours’ minutes with what was reported, and both ends of each quiet time', async () => {
    const minute = Math.floor(Date.now() / 60_000) - 90;
    await kit.redis.hset(redisKeys.traffic(minute), {
      '2xx:pro': 50,
      '2xx:free': 10,
      '5xx:free': 1,
      'refused:free': 2,
      'ms:5': 60,
    });
    const { body } = await api.send('GET', '/api/traffic');

    const { items } = body as { items: TrafficPoint[] };
    const times = items.map(({ at }) => Date.parse(at));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe((24 * 60 - 1) * 60_000);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(times).toEqual(expect.arrayContaining([-1, 0, 1].map((next) => (minute + next) * 60_000)));
    expect(items.length).toBeLessThan(100);
    expect(items[times.indexOf(minute * 60_000)]).toEqual({
      at: new Date(minute * 60_000).toISOString(),
      byStatus: { '2xx': 60, '5xx': 1 },
      refused: 2,
      latencyMs: { p50: 3.75, p99: 4.975 },
    });
    expect(items[times.indexOf((minute + 1) * 60_000)]).toMatchObject({ byStatus: {}, latencyMs: null });
  });
});
