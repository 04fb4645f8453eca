import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { textFields } from '../../gateway/platform/redis/enforced-settings.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { send } from '../support/http/http.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of settings', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);

  const lastEntry = async (action: string) => (await readAudit(started.kit.redis, 1, { action }))[0];
  const policy = () => started.kit.redis.hgetall(redisKeys.banPolicy);

  test('the policy is shown, changed and in force', async () => {
    const { page } = await started.open('/console/bans', { name: 'Grace' });
    const shown = page.locator('policy-settings');
    await shown.getByText('on all gateways').waitFor();
    expect(await shown.innerText()).toMatch(/First ban, seconds\s+60\s/);
    await expectAccessible(page, 'settings');
    await shown.getByRole('button', { name: 'Change…' }).click();
    const form = page.getByRole('dialog');
    await form.getByLabel('Refusals before a ban').fill('2');
    await form.getByLabel('Refusals by limit').fill('0.001');
    await form.getByLabel('Grace').fill('0');
    await form.getByLabel('Limit of each address').fill('7');
    await form.getByLabel('Kept for').fill('30');
    await expectAccessible(page, 'settings-policy');
    expect(await policy()).toEqual(textFields(defaultBanPolicy));
    await form.getByRole('button', { name: 'Save' }).click();
    await expect.poll(policy).toEqual({
      ...textFields(defaultBanPolicy),
      strikes: '2',
      strikesPerLimit: '0.001',
      graceSeconds: '0',
    });
    const { redis } = started.kit;
    await expect.poll(() => redis.hgetall(redisKeys.plan('anonymous'))).toEqual({ minute: '7' });
    await expect.poll(() => redis.hgetall(redisKeys.usagePolicy)).toEqual({ retentionDays: '30' });
    expect(await lastEntry('policy')).toMatchObject({ who: 'Grace', action: 'policy.set' });
    const { key } = await started.kit.issue({ minute: 1, day: 10 });
    const request = async () => (await send(`${started.kit.gateway.url}/v1/pets`, { key })).json;
    await expect.poll(request, { timeout: 5000 }).toMatchObject({ code: 'api_key_banned' });
  });

  test('an invalid policy is set right', async () => {
    await started.kit.redis.hset(redisKeys.banPolicy, { strikes: 'lots' });
    const { page } = await started.open('/console/bans', { name: 'Grace' });
    const shown = page.locator('policy-settings');
    await shown.getByText('it is "lots"').waitFor();
    await shown.getByRole('button', { name: 'Change…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await policy())['strikes']).toMatch(/^\d+$/);
  });
});
