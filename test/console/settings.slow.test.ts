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

  test('a ban policy says what it does while it is typed, is saved, and is in force', async () => {
    const { page } = await started.open('/console/bans', { name: 'Grace' });
    const form = page.getByRole('dialog');
    await page.locator('policy-settings').first().getByText('free 60, pro 300, business 1,000').waitFor();
    await expectAccessible(page, 'settings');
    await page.locator('policy-settings').first().getByRole('button', { name: 'Change…' }).click();
    await form.getByText('free 60, pro 300, business 1,000').waitFor();
    await expectAccessible(page, 'settings-policy');
    await form.getByLabel('Refusals before a ban').fill('2');
    await form.getByLabel('Refusals by limit').fill('0');
    await form.getByLabel('Grace').fill('0');
    await form.getByText('free 2, pro 2, business 2').waitFor();
    expect(await policy()).toEqual(textFields(defaultBanPolicy));
    await form.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await policy())['strikes']).toBe('2');
    expect(await lastEntry('policy')).toMatchObject({ who: 'Grace', action: 'policy.set' });
    const { key } = await started.kit.issue({ minute: 1, day: 10 });
    const request = async () => (await send(`${started.kit.gateway.url}/v1/pets`, { key })).json;
    await expect.poll(request, { timeout: 5000 }).toMatchObject({ code: 'api_key_banned' });
  });
});
