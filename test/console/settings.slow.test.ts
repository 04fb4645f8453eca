import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { createConsoleSessions } from '../../gateway/control/access/console-sessions.ts';
import { createAuditLog } from '../../gateway/platform/redis/record-change.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { tabTo } from '../support/checks/keyboard.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { webhookSettings } from '../support/kits/events-kit.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { isSignedBy, startReceiver, type Received } from '../support/webhooks/receiver.ts';

const started = shared(() => startConsole(webhookSettings));

const options = { tags: ['chromium'], timeout: 120_000 };
describe('the page of webhooks', options, () => {
  const receiver = shared(startReceiver);

  test('adds a webhook, shows its secret once, tests it and shows what was sent, and removes it', async () => {
    const { page } = await started.open('/console/webhooks');
    await page.getByText('There are no webhooks').waitFor();
    await expectAccessible(page, 'webhooks-none');
    await page.getByRole('button', { name: 'New webhook…' }).click();
    const asked = page.getByRole('dialog', { name: 'New webhook' });
    await asked.getByLabel('Address').fill(`${receiver.url}/hook`);
    await asked.getByLabel('quota.threshold').check();
    await expectAccessible(page, 'webhooks-add');
    await asked.getByRole('button', { name: 'Add' }).click();
    const secret = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
    await expectAccessible(page, 'webhooks-secret');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const choose = async (text: string) => {
      await page.getByRole('button', { name: /^Actions of / }).click();
      await page.getByRole('button', { name: text }).click();
    };
    await choose('Send a test');
    await expect.poll(() => receiver.at('/hook').length).toBe(1);
    expect(isSignedBy(secret, receiver.at('/hook')[0] as Received)).toBe(true);
    const deliveries = page.getByRole('region', { name: 'Deliveries' });
    await deliveries.getByText('webhook.test').waitFor();
    await deliveries.getByText('delivered: status 200').waitFor();
    await expectAccessible(page, 'webhooks');
    expect(await page.content()).not.toContain(secret);
    await choose('Switch off');
    await page.getByRole('cell', { name: 'Off', exact: true }).waitFor();
    await choose('Switch on');
    await page.getByRole('cell', { name: 'On', exact: true }).waitFor();
    await choose('Remove…');
    await page.getByRole('button', { name: 'Remove the webhook' }).click();
    await page.getByText('There are no webhooks').waitFor();
  });
});

describe('the page of sessions', options, () => {
  test('lists who is signed in, and an operator ends one session, with the keyboard alone', async () => {
    await createConsoleSessions(sessionOf(started.redis)).endAll();
    const grace = await started.signIn({ name: 'Grace', role: 'viewer' });
    const { page } = await started.open('/console', { name: 'Ada' });
    const rowOf = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) });
    await page.locator('[popovertarget=session-menu]').focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Who is signed in');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/sessions');
    await expect
      .poll(() => rowOf('Grace').textContent())
      .toMatch(/viewer\s+.*(?:second|now).*Grace\s+in 11 hours/s);
    expect(await rowOf('Ada').textContent()).toMatch(/Ada\s+this session\s+operator/);
    await expectAccessible(page, 'sessions');

    await tabTo(page, 'End…');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'End the session of Grace?' }).waitFor();
    await tabTo(page, 'End the session');
    await page.keyboard.press('Enter');
    await page.getByText('Grace is signed out.').waitFor();
    await rowOf('Grace').waitFor({ state: 'detached' });
    expect((await grace.send('GET', '/api/session')).status).toBe(401);
    expect(await started.lastChange()).toMatchObject({
      who: 'Ada',
      action: 'console.end',
      before: { name: 'Grace', role: 'viewer' },
    });
  });
});

describe('the page of the audit log', options, () => {
  const record = (who: string, action: string, target: string, before: unknown, after: unknown) =>
    createAuditLog({ redis: started.redis, who })({ action, target, before, after });
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
    const { key } = await started.issue();
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
