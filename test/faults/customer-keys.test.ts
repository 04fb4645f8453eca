import { describe, expect, test } from 'vitest';
import { recordChangeCall } from '../../gateway/control/record-change-call.ts';
import { type CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { redisStateOf } from '../support/kits/service.ts';
import { fresh } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';

/** A day limit, because a minute window could expire during a test. */
const dayLimit = 6;

describe('all keys of a customer', { tags: ['redis-server'] }, () => {
  const kit = fresh(startGatewayKit);

  const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  const redisState = () => redisStateOf(kit.gateway);

  /** A customer with two keys. */
  async function issueTwo() {
    const { key, id, customerId } = await kit.issue({ day: dayLimit });
    const further = await keyIssuer(kit.redis).store.issueFor(customerId, { name: 'further' });
    return { id, customerId, keys: [key, further.key] };
  }

  async function outcomes(keys: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    for (const key of keys) {
      const { status, json } = await pets(key);
      found.push(status === 200 ? '200' : `${status} ${(json as { code: string }).code}`);
    }
    return found;
  }

  /** An empty text ends the suspension. */
  async function suspend(customerId: CustomerId, suspendedAt: string): Promise<void> {
    const { keys, args } = recordChangeCall({ customerId, rev: '', customer: { suspendedAt } });
    await kit.redis.changeRecord(keys.length, ...keys, ...args);
  }

  test('share its limits, with Redis and in an outage, and what they use in an outage is counted together', async () => {
    const { customerId, keys } = await issueTwo();
    expect(await outcomes(keys)).toEqual(['200', '200']);
    await kit.server.kill();
    const [key = '', further = ''] = keys;
    // A single instance may admit the whole limit.
    expect(await outcomes([key, key, key, key, further, further])).toEqual(Array(6).fill('200'));
    expect(await outcomes(keys)).toEqual(Array(2).fill('429 rate_limit_exceeded'));
    await kit.server.restart();
    await expect.poll(redisState).toBe('ok');
    // What was in flight when Redis was killed may be counted there and locally.
    await expect.poll(() => dayUsage(kit.redis, customerId)).toBeGreaterThanOrEqual(2 + dayLimit);
    expect(await outcomes(keys)).toEqual(Array(2).fill('429 rate_limit_exceeded'));
  });

  test('are refused while it is suspended, also in an outage, and no other ones', async () => {
    const { customerId, keys } = await issueTwo();
    const { key: other } = await kit.issue();
    expect(await outcomes([...keys, other])).toEqual(['200', '200', '200']);
    await suspend(customerId, new Date().toISOString());
    const refused = [...Array<string>(2).fill('401 account_suspended'), '200'];
    expect(await outcomes([...keys, other])).toEqual(refused);
    await kit.server.kill();
    expect(await outcomes([...keys, other])).toEqual(refused);
    await kit.server.restart();
    await expect.poll(redisState).toBe('ok');
    // The connection of the tests is back at a time of its own.
    await expect.poll(() => kit.redis.ping()).toBe('PONG');
    await suspend(customerId, '');
    expect(await outcomes([...keys, other])).toEqual(['200', '200', '200']);
  });
});
