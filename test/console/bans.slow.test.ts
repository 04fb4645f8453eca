import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { tabTo } from '../support/checks/keyboard.ts';
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

  test('a key is found by the key itself, banned in the list with the keyboard alone, and the bans can be sorted', async () => {
    const { key, id } = await started.kit.issue({ name: 'Zebra' });
    expect(await statusOf(key)).toBe(200);
    const { page } = await started.open('/console/keys?search=Zebra', { name: 'Grace' });
    await page.getByRole('button', { name: 'Actions of Zebra' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Ban…');
    await page.keyboard.press('Enter');
    const asked = page.getByRole('dialog', { name: /^Ban / });
    await asked.getByLabel('Reason').focus();
    await page.keyboard.type('attacks us');
    await page.keyboard.press('Enter');
    await expect.poll(lastEntry).toMatchObject({ who: 'Grace', action: 'bans.add', target: id });
    await expect.poll(() => statusOf(key), { timeout: 3000 }).toBe(429);
    await page.getByRole('cell', { name: 'Banned' }).waitFor();
    await banned('Another', 7200);
    await page.goto(`${started.origin}/console/bans`);
    const names = () => page.locator('tbody th').allTextContents();
    await page.getByRole('button', { name: 'Key', exact: true }).press('Enter');
    await expect.poll(names).toEqual((await names()).toSorted());
    await page.getByRole('button', { name: 'Key', exact: true }).press('Enter');
    await expect.poll(names).toEqual((await names()).toSorted().toReversed());
    expect((await names())[0]).toBe('Zebra');
    await expectAccessible(page, 'bans-sorted');
  });
});
