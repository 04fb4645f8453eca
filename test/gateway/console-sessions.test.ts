import { describe, expect, test } from 'vitest';
import {
  createConsoleSessions,
  makeConsoleCode,
  redeemConsoleCode,
} from '../../gateway/control/access/console-sessions.ts';
import { beginPortalSession } from '../../gateway/control/access/portal-sessions.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { connectRedis, keyIssuer, sessionOf, startRedisClient } from '../support/kits/keys.ts';
import { portalCode } from '../support/kits/portal-kit.ts';
import { shared } from '../support/kits/shared.ts';

const hoursMs = 3_600_000;

describe('sessions of the console', () => {
  /** Connections of two gateways. */
  const redis = shared(startRedisClient);
  const other = shared(() => connectRedis(redis.url));

  /** @param laterMs how much later than now it is */
  const session = (laterMs = 0, client: RedisClient = redis) => ({
    ...sessionOf(client, 'Grace'),
    now: () => Date.now() + laterMs,
  });

  const makeCode = async () => (await makeConsoleCode(session(), { name: 'Ada', role: 'viewer' })).code;

  async function begin(laterMs = 0) {
    const begun = await redeemConsoleCode(session(laterMs), await makeCode());
    if (begun === undefined) throw new Error('the code was refused');
    return begun;
  }

  test('of many attempts with one code at once, on two gateways, one succeeds', async () => {
    const code = await makeCode();
    const attempts = Array.from({ length: 40 }, (_, index) =>
      redeemConsoleCode(session(0, index % 2 === 0 ? redis : other), code),
    );
    expect((await Promise.all(attempts)).filter((begun) => begun !== undefined)).toHaveLength(1);
  });

  test('a code is refused after five minutes, also if Redis has not removed it yet', async () => {
    expect(await redeemConsoleCode(session(5 * 60_000), await makeCode())).toBeUndefined();
  });

  test('a code for the portal opens no console, nor the other way round, and is not used up', async () => {
    const { customerId } = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 5, day: 5 });
    const [ofConsole, ofPortal] = [await makeCode(), await portalCode(redis, customerId)];
    expect(await redeemConsoleCode(session(), ofPortal)).toBeUndefined();
    expect(await beginPortalSession(session(), ofConsole, [])).toBeUndefined();
    expect(await redeemConsoleCode(session(), ofConsole)).toBeDefined();
    expect(await beginPortalSession(session(), ofPortal, [])).toMatchObject({ session: { customerId } });
  });

  test('a session ends after twelve hours, also if Redis still has it', async () => {
    const { token } = await begin();
    expect(await createConsoleSessions(session(12 * hoursMs - 60_000)).find(token)).toBeDefined();
    expect(await createConsoleSessions(session(12 * hoursMs)).find(token)).toBeUndefined();
  });
});
