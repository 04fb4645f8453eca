import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { dayNumberOf, utcDate } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { recordUse } from '../support/stores/day-counter.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';

describe('GET /v1/usage', () => {
  const kit = shared(startGatewayKit);

  const usage = (key: string) => send(`${kit.gateway.url}/v1/usage`, { key });
  const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
  async function daysOf(key: string, count: number) {
    const response = await send(`${kit.gateway.url}/v1/usage?days=${count}`, { key });
    expect(response.status).toBe(200);
    return (response.json as { days: { served: number }[] }).days;
  }

  test('returns the plan and both windows, and consumes no quota', async () => {
    const { key, customerId } = await kit.issue({ plan: 'pro', day: 5000 });
    const fresh = await usage(key);
    expect(fresh.status).toBe(200);
    expect(fresh.json).toMatchObject({
      plan: 'pro',
      minute: { limit: 300, used: 0, remaining: 300 },
      day: { limit: 5000, used: 0, remaining: 5000 },
      bannedUntil: null,
    });
    const last = await pets(key);
    await pets(key);
    const used = await usage(key);
    const { minute, day } = used.json as Record<string, { resetsAt: string }>;
    expect(minute).toMatchObject({ limit: 300, used: 2, remaining: 298 });
    expect(day).toMatchObject({ limit: 5000, used: 2, remaining: 4998 });
    // The clock is read twice, possibly in two different seconds.
    const differenceSeconds =
      Date.parse(minute?.resetsAt ?? '') / 1000 - Number(last.header('X-RateLimit-Reset'));
    expect(Math.abs(differenceSeconds)).toBeLessThanOrEqual(1);
    expect(day?.resetsAt).toMatch(/T00:00:00Z$/);
    expect(used.headers).toMatchObject({ 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '298' });
    expect(used.header('RateLimit')).toMatch(/^"minute";r=298;t=\d+, "day";r=4998;t=\d+$/);
    expect(await kit.redis.get(redisKeys.openWindow(customerId, 'minute'))).toBe('2');
    expect(kit.upstream.seen.map(({ url }) => url)).not.toContain('/v1/usage');
  });

  test('works if a limit is used up, or was lowered below its usage', async () => {
    const { key, customerId } = await kit.issue({ minute: 2 });
    for (let index = 0; index < 3; index += 1) await pets(key);
    const response = await usage(key);
    expect(response).toMatchObject({ status: 200, json: { minute: { limit: 2, used: 2, remaining: 0 } } });
    expect(response.header('Retry-After')).toBeUndefined();
    await keyIssuer(kit.redis).store.changeCustomer(customerId, { minute: 1 });
    expect((await usage(key)).json).toMatchObject({ minute: { limit: 1, used: 2, remaining: 0 } });
    // What is no counter is named in the log.
    const counter = redisKeys.openWindow(customerId, 'minute');
    await kit.redis.multi().del(counter).rpush(counter, 'oops').exec();
    expect((await usage(key)).status).toBe(503);
    await expect.poll(kit.gateway.output).toContain(`gw:*{${customerId}}* holds a value of another type`);
  });

  test('works during a ban, and returns the end of the ban', async () => {
    const { key, customerId, keyHash } = await kit.issue();
    await kit.redis.set(redisKeys.ban({ customerId, keyHash }), '1', 'PX', 90_000);
    const response = await usage(key);
    expect(response.status).toBe(200);
    const { bannedUntil } = response.json as { bannedUntil: string };
    expect(Date.parse(bannedUntil) / 1000).toBe(Number(response.header('X-RateLimit-Reset')));
    expect(response.header('X-RateLimit-Remaining')).toBe('0');
    // The windows are those of the body: the ban uses up neither.
    expect(response.header('RateLimit')).toMatch(/^"ban";r=0;t=\d+$/);
    expect(response.header('Retry-After')).toBeUndefined();
    expect(response.json).toMatchObject({ banReason: 'It kept sending requests when refused.', strikes: 0 });
    await kit.redis.set(redisKeys.ban({ customerId, keyHash }), 'scrapes the shop', 'PX', 90_000);
    expect((await usage(key)).json).toMatchObject({ banReason: 'scrapes the shop' });
  });

  test('says which key it is, until when it works, and how far it is from a ban', async () => {
    const { key, id } = await kit.issue({ minute: 1 });
    expect((await usage(key)).json).toMatchObject({
      key: { id, expiresAt: null, replacedBy: null },
      banReason: null,
      strikes: 0,
      strikesToBan: 60,
    });
    const { record: replacement } = await keyIssuer(kit.redis).store.rotate(id, 3_600_000);
    const { key: old } = (await usage(key)).json as { key: Record<string, string> };
    expect(old).toMatchObject({ id, replacedBy: replacement.id });
    expect(Date.parse(old['expiresAt'] ?? '') / 1000 - Date.now() / 1000).toBeCloseTo(3600, -2);
  });

  test('shows the use of each of the last days, today last', async () => {
    const { key, customerId } = await kit.issue({ plan: 'free', minute: 2 });
    const dayOf = (nowMs: number, ago: number) => utcDate(dayNumberOf(nowMs) - ago);
    const nowMs = Date.now();
    const [today, before] = [dayOf(nowMs, 0), dayOf(nowMs, 2)];
    const ofBefore = { plan: 'pro', [`p${before.slice(6)}`]: 'pro', [before.slice(6)]: 17 };
    await kit.redis.hset(redisKeys.usageMonth(customerId, before.slice(0, 6)), ofBefore);
    for (let index = 0; index < 5; index += 1) await pets(key);
    const days = (count: number) => daysOf(key, count);
    const iso = (date: string) => `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
    const none = { plan: null, served: 0, refused: 0 };
    const expected = [
      { ...none, date: iso(before), plan: 'pro', served: 17 },
      { ...none, date: iso(dayOf(nowMs, 1)) },
      { ...none, date: iso(today), plan: 'free', served: 2, refused: 3 },
    ];
    // Refused requests are reported every five seconds.
    await expect.poll(() => days(3), { interval: 300, timeout: 9000 }).toEqual(expected);
    const ninety = await days(90);
    expect(ninety).toHaveLength(90);
    expect(ninety.slice(-3)).toEqual(expected);
    expect(await days(1)).toEqual(expected.slice(-1));
    // It costs no quota, and the body has no days without the parameter.
    expect(Object.keys((await usage(key)).json as object)).not.toContain('days');
    expect((await usage(key)).json).toMatchObject({ minute: { used: 2 }, day: { used: 2 } });
  });

  test.each(['days=0', 'days=91', 'days=', 'days=030', 'days=1.0', 'days=x', 'days=1&days=1'])(
    'refuses ?%s, names the parameter and shows the limits of the key',
    async (query) => {
      const { key } = await kit.issue({ plan: 'pro' });
      const response = await send(`${kit.gateway.url}/v1/usage?${query}`, { key });
      expect(response.status).toBe(400);
      expect(response.json).toEqual({
        code: 'invalid_request',
        message: 'days must be a whole number from 1 to 90.',
        status: 400,
      });
      expect(response.header('X-RateLimit-Remaining')).toBe('300');
    },
  );

  test('does not show days that are older than the retention', async () => {
    const { key, customerId } = await kit.issue();
    for (const daysAgo of [1, 3]) await recordUse(kit.redis, customerId, daysAgo, 9);
    const served = async () => (await daysOf(key, 4)).map((day) => day.served);
    expect(await served()).toEqual([9, 0, 9, 0]);
    await kit.redis.hset(redisKeys.usagePolicy, 'retentionDays', 2);
    await expect.poll(served, { interval: 300 }).toEqual([0, 0, 9, 0]);
    // An invalid value leaves the last valid one in force.
    await kit.redis.hset(redisKeys.usagePolicy, 'retentionDays', '1e3');
    await expect.poll(kit.gateway.output).toContain('retentionDays is not a whole number from 1 to 4000');
    expect(await served()).toEqual([0, 0, 9, 0]);
    await kit.redis.hset(redisKeys.usagePolicy, 'retentionDays', 400);
  });

  test(
    'a client over ten requests a second gets 429, and its refused requests cost no Redis command',
    { tags: ['redis-server'] },
    async () => {
      const { key, customerId } = await kit.issue();
      await usage(key);
      const monitor = await monitorRedis(kit.server.port);
      const responses = [];
      for (let index = 0; index < 100; index += 1) responses.push(await usage(key));
      const served = responses.filter(({ status }) => status === 200).length;
      const ofCustomer = (arg: string) => arg.includes(`{${customerId}}`);
      const usageCommands = () =>
        monitor.commands.filter(({ source, args }) => source !== 'lua' && args.some(ofCustomer));
      await expect.poll(() => usageCommands().length).toBe(served);
      monitor.close();
      expect(served).toBeGreaterThanOrEqual(9);
      expect(served).toBeLessThan(100);
      const refused = responses.find(({ status }) => status === 429);
      expect(refused?.json).toMatchObject({ code: 'rate_limit_exceeded', status: 429 });
      expect(refused?.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-limit': '10' });
      expect(refused?.header('X-RateLimit-Remaining')).toBe('0');
      expect(refused?.header('RateLimit-Policy')).toBe('"usage";q=10;w=1');
      expect(refused?.header('X-RateLimit-Window')).toBe('usage');
      // No quota was consumed, and the next second has room again.
      await sleep(1000);
      expect((await usage(key)).json).toMatchObject({ minute: { used: 0 } });
    },
  );
});
