import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { textFields } from '../../gateway/platform/redis/settings.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of bans and their policy', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);
  const ada = shared(() => started.signIn());

  const policy = () => started.redis.hgetall(redisKeys.banPolicy);

  test('a ban is lifted, audited under the name of the person, and the next request is served', async () => {
    const { key, customerId, keyHash, id } = await started.issue({ name: 'Acme' });
    await ada.send('PUT', `/api/keys/${id}/ban`, { seconds: 3600, reason: 'Acme pays no bills' });
    const statusOf = async () => (await started.pets(key)).status;
    await started.issue({ name: 'Sooner' });
    expect(await statusOf()).toBe(429);
    const { page } = await started.open('/console/bans', { name: 'Grace' });
    await page.getByRole('button', { name: 'Ban a key…' }).click();
    await page.getByLabel('Key (').fill('soon');
    await page.getByLabel('Reason').fill('late');
    await page.keyboard.press('Enter');
    const rows = page.getByRole('region', { name: 'Active bans' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(3);
    expect(await rows.nth(1).innerText()).toContain('Sooner');
    expect(await rows.nth(2).innerText()).toContain('Acme pays no bills');
    await expectAccessible(page, 'bans');
    await page.getByRole('button', { name: 'Lift the ban of Acme' }).click();
    await expect.poll(() => started.redis.exists(redisKeys.ban({ customerId, keyHash }))).toBe(0);
    expect(await started.lastChange({ action: 'bans' })).toMatchObject({
      who: 'Grace',
      action: 'bans.lift',
      target: id,
    });
    await expect.poll(statusOf, { timeout: 3000 }).toBe(200);
    await expect.poll(() => rows.count()).toBe(2);
  });

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
    const { redis } = started;
    await expect.poll(() => redis.hgetall(redisKeys.plan('anonymous'))).toEqual({ minute: '7' });
    await expect.poll(() => redis.hgetall(redisKeys.usagePolicy)).toEqual({ retentionDays: '30' });
    expect(await started.lastChange({ action: 'policy' })).toMatchObject({
      who: 'Grace',
      action: 'policy.set',
    });
    const { key } = await started.issue({ minute: 1, day: 10 });
    await expect
      .poll(async () => (await started.pets(key)).json, { timeout: 5000 })
      .toMatchObject({ code: 'api_key_banned' });
  });

  test('an invalid policy is set right', async () => {
    await started.redis.hset(redisKeys.banPolicy, { strikes: 'lots' });
    const { page } = await started.open('/console/bans', { name: 'Grace' });
    const shown = page.locator('policy-settings');
    await shown.getByText('it is "lots"').waitFor();
    await shown.getByRole('button', { name: 'Change…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await policy())['strikes']).toMatch(/^\d+$/);
  });
});
