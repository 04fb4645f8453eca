import { describe, expect, test } from 'vitest';
import { setPlan } from '../../gateway/control/plans/plans.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet } from '../support/kits/gateway-fleet.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

describe('shadow limits of a plan', { tags: ['redis-server'] }, () => {
  const server = shared(startRedisServer);
  const fleet = shared(() => startGatewayFleet(server.url, 1));

  const session = () => sessionOf(fleet.redis);
  const metrics = async () => (await send(`${fleet.gateways[0]?.adminUrl}/metrics`)).text;
  const refusals = async (plan: string) =>
    Array.from(
      (await metrics()).matchAll(
        new RegExp(`^gateway_shadow_refusals_total{plan="${plan}",window="(\\w+)"} (\\d+)$`, 'gm'),
      ),
      ([, window, count]) => `${window} ${count}`,
    );

  test('serve what they would refuse, and count it by its window', async () => {
    await setPlan(session(), 'shadowed', { minute: 10, day: 100, shadowMinute: 3, shadowDay: 50 }, true);
    const [first, own] = await Promise.all([
      fleet.issue({ plan: 'shadowed' }),
      fleet.issue({ plan: 'shadowed', minute: 9 }),
    ]);
    for (let request = 0; request < 5; request += 1) {
      expect((await fleet.pets(first.key)).status).toBe(200);
      // A limit of its own takes the place of the plan's.
      expect((await fleet.pets(own.key)).status).toBe(200);
    }
    expect((await refusals('shadowed')).toSorted()).toEqual(['day 0', 'minute 2']);
  });
});
