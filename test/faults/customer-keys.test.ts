import { describe, expect, test } from 'vitest';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { redisStateOf } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';

/** A day limit, because a minute window could expire during a test. */
const dayLimit = 6;

describe('all keys of a customer', { tags: ['redis-server'] }, () => {
  const kit = fresh(startGatewayKit);

  async function outcomes(keys: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (const key of keys) {
      const { status, json } = await kit.pets(key);
      found.push(status === 200 ? '200' : `${status} ${(json as { code: string }).code}`);
    }
    return found;
  }

  test('share its limits, with Redis and in an outage, and what they use in an outage is counted together', async () => {
    const { key, customerId } = await kit.issue({ day: dayLimit });
    const { key: further } = await keyIssuer(kit.redis).store.issueFor(customerId, { name: 'further' });
    const keys = [key, further];
    expect(await outcomes(keys)).toEqual(['200', '200']);
    await kit.server.kill();
    // A single instance may admit the whole limit.
    expect(await outcomes([key, key, key, key, further, further])).toEqual(Array(6).fill('200'));
    expect(await outcomes(keys)).toEqual(Array(2).fill('429 rate_limit_exceeded'));
    await kit.server.restart();
    await expect.poll(() => redisStateOf(kit.gateway)).toBe('ok');
    // What was in flight when Redis was killed may be counted there and locally.
    await expect.poll(() => dayUsage(kit.redis, customerId)).toBeGreaterThanOrEqual(2 + dayLimit);
    expect(await outcomes(keys)).toEqual(Array(2).fill('429 rate_limit_exceeded'));
  });
});
