import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { createAuditLog } from '../../gateway/platform/redis/record-change.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of the audit log', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);

  const record = (who: string, action: string, target: string, before: unknown, after: unknown) =>
    createAuditLog({ redis: started.kit.redis, who })({ action, target, before, after });
  const rows = (page: Page) => page.getByRole('region', { name: 'Audit log' }).getByRole('row');
  /** With what it unfolds to. */
  const firstRow = async (page: Page) =>
    (await rows(page).nth(1).textContent())?.replaceAll(/\s+/g, ' ') ?? '';

  test('shows who changed what, old and new, newest first, and follows a link to a customer', async () => {
    await record('Grace', 'keys.set', 'key_1', { plan: 'free', rev: 1 }, { plan: 'pro', rev: 2 });
    const { page } = await started.open('/console/audit?action=keys');
    await expect.poll(() => firstRow(page)).toMatch(/Grace changed the key key_1 .*plan: free → pro/);
    const change = page.getByText('free', { exact: true });
    expect(await change.isVisible()).toBe(false);
    await page.locator('summary').first().click();
    expect(await change.isVisible()).toBe(true);
    await expectAccessible(page, 'audit');
    expect(await page.getByRole('link', { name: 'key_1' }).getAttribute('href')).toBe('/console/keys/key_1');
  });

  test('new entries appear at the top by themselves', async () => {
    const { page } = await started.open('/console/audit?action=keys');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(1);
    await record('Linus', 'keys.revoke', 'key_2', { revoked: false }, { revoked: true });
    await expect.poll(() => firstRow(page), { timeout: 5000 }).toContain('key_2');
    await record('Linus', 'plans.set', 'not-shown', null, {});
    await record('Linus', 'keys.revoke', 'key_3', null, null);
    await expect.poll(() => firstRow(page), { timeout: 5000 }).toContain('key_3');
    expect(await page.getByText('not-shown').count()).toBe(0);
  });

  test('a pasted API key gets neither into the address nor to the gateway', async () => {
    const { key } = await started.kit.issue();
    const { page, requests } = await started.open('/console/audit');
    for (const label of ['Who', 'Id of a customer or key, or plan']) {
      await page.getByLabel(label).fill(key);
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByText('That is an API key itself').waitFor();
      expect(await page.getByLabel(label).inputValue()).toBe('');
    }
    expect(page.url() + requests.join()).not.toContain(key.slice(0, 12));
    await expectAccessible(page, 'audit-pasted');
  });
});
