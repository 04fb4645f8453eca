import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { send } from '../support/http/http.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of bans', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);
  const ada = shared(() => started.signIn());

  const lastEntry = async () => (await readAudit(started.kit.redis, 1, { action: 'bans' }))[0];
  const statusOf = async (key: string) => (await send(`${started.kit.gateway.url}/v1/pets`, { key })).status;

  async function banned(name: string, seconds: number) {
    const issued = await started.kit.issue({ name });
    await ada.send('PUT', `/api/keys/${issued.id}/ban`, { seconds, reason: `${name} pays no bills` });
    return issued;
  }

  test('a ban is lifted, audited under the name of the person, and the next request is served', async () => {
    const { key, customerId, keyHash, id } = await banned('Acme', 3600);
    await started.kit.issue({ name: 'Sooner' });
    expect(await statusOf(key)).toBe(429);
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
    await expect.poll(() => started.kit.redis.exists(redisKeys.ban({ customerId, keyHash }))).toBe(0);
    expect(await lastEntry()).toMatchObject({ who: 'Grace', action: 'bans.lift', target: id });
    await expect.poll(() => statusOf(key), { timeout: 3000 }).toBe(200);
    await expect.poll(() => rows.count()).toBe(2);
  });
});
