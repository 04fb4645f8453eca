import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { textFields } from '../../gateway/platform/redis/settings.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { send } from '../support/http/http.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { shared } from '../support/kits/shared.ts';

type Fields = Record<string, unknown>;

describe('the API of settings', () => {
  const started = shared(startConsoleApi);
  const ada = shared(() => started.signIn({ name: 'Ada' }));

  const get = async () => (await ada.send('GET', '/api/policy')).body as Fields;
  const set = (body: object) => ada.send('PATCH', '/api/policy', body);

  const defaults = { ...defaultBanPolicy, anonymousMinute: 60, retentionDays: 400 };

  test('shows what is stored, its defaults, and who enforces it', async () => {
    await expect.poll(async () => (await get())['gateways'], { timeout: 5000 }).toBe(1);
    expect(await get()).toEqual({
      stored: defaults,
      issues: [],
      gateways: 1,
      enforced: [],
      defaults,
    });
  });

  test('a ban policy is stored, audited, and in force for the next requests', async () => {
    const change = { graceSeconds: 0, strikes: 2, strikesPerLimit: 0, banSeconds: 77 };
    const policy = { ...defaultBanPolicy, ...change };
    const { body } = await set({ ...change, expected: defaults });
    expect(body).toEqual({ before: defaultBanPolicy, after: policy, warnings: [] });
    expect(await started.redis.hgetall(redisKeys.banPolicy)).toEqual(textFields(policy));
    expect(await started.lastChange()).toMatchObject({
      who: 'Ada',
      action: 'policy.set',
      before: defaultBanPolicy,
      after: policy,
    });
    await expect.poll(async () => (await get())['gateways'], { timeout: 5000 }).toBe(1);
    const { key } = await started.issue({ minute: 1, day: 10 });
    await expect
      .poll(async () => (await started.pets(key)).json, { timeout: 5000, interval: 50 })
      .toMatchObject({ code: 'api_key_banned' });
  });

  test('refuses a policy by somebody who has seen another one, and an invalid one', async () => {
    const seen = await get();
    expect((await set({ ...defaultBanPolicy, expected: defaultBanPolicy })).body).toMatchObject({
      status: 409,
      message: expect.stringContaining('banSeconds 77') as unknown,
    });
    expect((await set({ strikes: 0, expected: seen['stored'] })).body).toMatchObject({
      status: 400,
      message: expect.stringContaining('strikes: is not a whole number from 1 to 1000000') as unknown,
    });
    expect((await set({ banSeconds: 7200, expected: seen['stored'] })).body).toMatchObject({
      status: 422,
      message: 'The ban policy would be invalid: maxBanSeconds is less than banSeconds',
    });
    expect((await set({ expected: seen['stored'] })).status).toBe(400);
    expect(await get()).toEqual(seen);
  });

  test('a policy that was edited into nonsense is named field by field, and can be set right', async () => {
    const { redis } = started;
    await redis.hset(redisKeys.banPolicy, { strikes: 'lots', enabled: 'yes' });
    const state = await get();
    expect(state['stored']).toEqual({ anonymousMinute: 60, retentionDays: 400 });
    expect(state['issues']).toEqual([
      'enabled is neither true nor false: it is "yes"',
      'strikes is not a whole number from 1 to 1000000: it is "lots"',
    ]);
    expect(state['enforced']).toMatchObject([{ value: { banSeconds: 77 }, gateways: 1 }]);
    expect((await set({ ...defaultBanPolicy, expected: defaults })).status).toBe(409);
    const { body } = await set({ ...defaultBanPolicy, expected: {} });
    expect(body).toEqual({ before: {}, after: defaultBanPolicy, warnings: [] });
    expect(await redis.hgetall(redisKeys.banPolicy)).toEqual(textFields(defaultBanPolicy));
    expect(await started.lastChange()).toMatchObject({ action: 'policy.set', before: { strikes: 'lots' } });
  });

  test('the limit of an address is in force for its next request', async () => {
    expect((await set({ anonymousMinute: 5, expected: { anonymousMinute: 7 } })).status).toBe(409);
    expect((await set({ anonymousMinute: 0, expected: { anonymousMinute: 60 } })).status).toBe(400);
    const { body } = await set({ anonymousMinute: 5, expected: { anonymousMinute: 60 } });
    expect(body).toEqual({ before: { anonymousMinute: 60 }, after: { anonymousMinute: 5 }, warnings: [] });
    expect(await started.redis.hgetall(redisKeys.plan('anonymous'))).toEqual({ minute: '5' });
    await expect
      .poll(async () => (await send(`${started.gateway.url}/v1/pets`)).headers['x-ratelimit-limit'], {
        timeout: 3000,
      })
      .toBe('5');
    expect(await started.lastChange()).toMatchObject({
      who: 'Ada',
      action: 'plans.set',
      target: 'anonymous',
    });
  });

  test('the retention of use is stored', async () => {
    expect((await set({ retentionDays: 4001, expected: { retentionDays: 400 } })).status).toBe(400);
    expect((await set({ retentionDays: 30, expected: { retentionDays: 90 } })).status).toBe(409);
    const { body } = await set({ retentionDays: 3000, expected: { retentionDays: 400 } });
    expect(body).toEqual({ before: { retentionDays: 400 }, after: { retentionDays: 3000 }, warnings: [] });
    expect(await started.lastChange()).toMatchObject({ who: 'Ada', action: 'usage.retention' });
    expect(await get()).toMatchObject({ stored: { ...defaults, anonymousMinute: 5, retentionDays: 3000 } });
  });

  test('several settings are changed at once, and none if one of them would be invalid', async () => {
    const entries = await started.redis.xlen(redisKeys.audit);
    const { body } = await set({
      anonymousMinute: 60,
      maxBanSeconds: 1,
      expected: { ...defaults, anonymousMinute: 5 },
    });
    expect(body).toMatchObject({ status: 422 });
    expect(await get()).toMatchObject({ stored: { anonymousMinute: 5 } });
    expect(await started.redis.xlen(redisKeys.audit)).toBe(entries);
    await set({
      anonymousMinute: 60,
      retentionDays: 400,
      expected: { anonymousMinute: 5, retentionDays: 3000 },
    });
    expect(await get()).toMatchObject({ stored: defaults });
    expect(await started.redis.xlen(redisKeys.audit)).toBe(entries + 2);
  });
});
