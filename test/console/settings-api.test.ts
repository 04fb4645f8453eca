import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { textFields } from '../../gateway/platform/redis/enforced-settings.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { banPolicyBounds, defaultBanPolicy } from '../../gateway/quota/ban-policy.ts';
import { send } from '../support/http/http.ts';
import { startConsoleApi, type ConsoleApi, type ConsoleApiKit } from '../support/kits/console-api-kit.ts';

type Fields = Record<string, unknown>;

describe('the API of settings', () => {
  let started: ConsoleApiKit;
  let ada: ConsoleApi;

  beforeAll(async () => {
    started = await startConsoleApi();
    ada = await started.signIn({ name: 'Ada' });
  });

  afterAll(() => started[Symbol.asyncDispose]());

  const get = async (path: string) => (await ada.send('GET', `/api/settings/${path}`)).body as Fields;
  const put = (path: string, body: object) => ada.send('PUT', `/api/settings/${path}`, body);
  const lastEntry = async () => (await readAudit(started.kit.redis, 1))[0];

  test('shows the ban policy with its defaults, bounds and who enforces it', async () => {
    await expect.poll(async () => (await get('ban-policy'))['gateways'], { timeout: 5000 }).toBe(1);
    expect(await get('ban-policy')).toEqual({
      stored: defaultBanPolicy,
      issues: [],
      gateways: 1,
      enforced: [],
      defaults: defaultBanPolicy,
      bounds: banPolicyBounds,
    });
  });

  test('a ban policy is stored, audited, and in force for the next requests', async () => {
    const policy = { ...defaultBanPolicy, graceSeconds: 0, strikes: 2, strikesPerLimit: 0, banSeconds: 77 };
    const { body } = await put('ban-policy', { policy, expected: defaultBanPolicy });
    expect(body).toEqual({ policy, warnings: [] });
    expect(await started.kit.redis.hgetall(redisKeys.banPolicy)).toEqual(textFields(policy));
    expect(await lastEntry()).toMatchObject({ who: 'Ada', action: 'policy.set' });
    await expect.poll(async () => (await get('ban-policy'))['gateways'], { timeout: 5000 }).toBe(1);
    const { key } = await started.kit.issue({ minute: 1, day: 10 });
    await expect
      .poll(
        async () => {
          const { json } = await send(`${started.kit.gateway.url}/v1/pets`, { key });
          return (json as Fields)['code'];
        },
        { timeout: 5000, interval: 50 },
      )
      .toBe('api_key_banned');
  });

  test('refuses a policy by somebody who has seen another one, and an invalid one', async () => {
    const seen = await get('ban-policy');
    const stale = await put('ban-policy', { policy: defaultBanPolicy, expected: defaultBanPolicy });
    expect(stale.body).toMatchObject({
      status: 409,
      message: expect.stringContaining('banSeconds 77') as unknown,
    });
    const policy = { ...defaultBanPolicy, strikes: 0, banSeconds: 7200 };
    const invalid = await put('ban-policy', { policy, expected: seen['stored'] });
    expect(invalid.body).toMatchObject({
      status: 400,
      message: expect.stringContaining('policy.strikes: is not a whole number from 1 to 1000000') as unknown,
    });
    expect((await put('ban-policy', { policy: {}, expected: null })).status).toBe(400);
    expect(await get('ban-policy')).toEqual(seen);
  });

  test('a policy that was edited into nonsense is named field by field, and can be reset', async () => {
    const { redis } = started.kit;
    await redis.hset(redisKeys.banPolicy, { strikes: 'lots', enabled: 'yes' });
    const state = await get('ban-policy');
    expect(state['stored']).toBeNull();
    expect(state['issues']).toEqual([
      'enabled is neither true nor false: it is "yes"',
      'strikes is not a whole number from 1 to 1000000: it is "lots"',
    ]);
    expect(state['enforced']).toMatchObject([{ value: { banSeconds: 77 }, gateways: 1 }]);
    const stale = await ada.send('POST', '/api/settings/ban-policy/reset', { expected: defaultBanPolicy });
    expect(stale.status).toBe(409);
    const { body } = await ada.send('POST', '/api/settings/ban-policy/reset', { expected: null });
    expect(body).toEqual({ policy: defaultBanPolicy, warnings: [] });
    expect(await redis.hgetall(redisKeys.banPolicy)).toEqual(textFields(defaultBanPolicy));
    expect(await lastEntry()).toMatchObject({ action: 'policy.reset' });
  });

  test('the limit of an address is in force for its next request', async () => {
    const before = await get('anonymous');
    expect(before).toMatchObject({ stored: { minute: 60 }, defaults: { minute: 60 }, issues: [] });
    expect((await put('anonymous', { minute: 5, expected: { minute: 7 } })).status).toBe(409);
    expect((await put('anonymous', { minute: 0, expected: { minute: 60 } })).status).toBe(400);
    const { body } = await put('anonymous', { minute: 5, expected: { minute: 60 } });
    expect(body).toEqual({ minute: 5, before: 60, warnings: [] });
    expect(await started.kit.redis.hgetall(redisKeys.plan('anonymous'))).toEqual({ minute: '5' });
    await expect
      .poll(async () => (await send(`${started.kit.gateway.url}/v1/pets`)).headers['x-ratelimit-limit'], {
        timeout: 3000,
      })
      .toBe('5');
    expect(await lastEntry()).toMatchObject({ who: 'Ada', action: 'plans.set', target: 'anonymous' });
  });

  test('the retention of use is stored', async () => {
    expect(await get('usage')).toMatchObject({ stored: { retentionDays: 400 } });
    expect((await put('usage', { retentionDays: 4001, expected: { retentionDays: 400 } })).status).toBe(400);
    expect((await put('usage', { retentionDays: 30, expected: { retentionDays: 90 } })).status).toBe(409);
    const { body } = await put('usage', { retentionDays: 3000, expected: { retentionDays: 400 } });
    expect(body).toMatchObject({ retentionDays: 3000, before: 400, warnings: [] });
    expect(await lastEntry()).toMatchObject({ who: 'Ada', action: 'usage.retention' });
    expect(await get('usage')).toMatchObject({ stored: { retentionDays: 3000 } });
  });
});
