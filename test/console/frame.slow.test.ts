import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

/** What is cut off on the right, but for what scrolls by itself. */
const widerThanPage = `[document.documentElement, ...document.querySelectorAll('.table-scroll')]
  .filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.className || element.tagName)`;

const labelsOfLastRow = `Array.from(document.querySelectorAll('tbody tr:last-child td:not([data-label=""])'), (cell) =>
  getComputedStyle(cell, '::before').content.replaceAll('"', '').trim()).filter((label) => label !== 'none')`;

/** Pages beside the first one of a tab. */
const segments = ['keys', 'tokens', 'sessions', 'settings', 'audit'].map((name) => `/console/${name}`);

/** The first page of each tab. */
async function tabsOf(page: Page): Promise<string[]> {
  const links = await page.getByRole('navigation', { name: 'Console' }).getByRole('link').all();
  return Promise.all(links.map(async (link) => (await link.getAttribute('href')) ?? ''));
}

async function show(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.locator('main').getByRole('heading').first().waitFor();
  await expect.poll(() => page.getByText('Loading…').count(), { timeout: 20_000 }).toBe(0);
}

describe('the frame of the console', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  test('the first page transfers at most 300 kB, nothing of it twice, and all from its own host', async () => {
    // Without any traffic there would be no charts.
    await send(`${kit.gateway.url}/openapi.json`);
    const observed = await kit.open('/console');
    await observed.page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await observed.page.locator('time-chart canvas').first().waitFor();
    const files = (await observed.page.evaluate(
      `performance.getEntriesByType('resource').map(({ name, transferSize }) => ({ name, transferSize }))`,
    )) as { name: string; transferSize: number }[];
    const assets = files.filter(({ name }) => new URL(name).pathname.startsWith('/console/assets/'));
    expect(files.length).toBeLessThanOrEqual(12);
    expect(assets.length).toBeGreaterThan(1);
    expect(new Set(assets.map(({ name }) => name)).size).toBe(assets.length);
    const bytes = files.reduce((sum, { transferSize }) => sum + transferSize, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(300_000);
    expectClean(observed, kit.origin);
    // Every file is kept by the browser for good: the address changes with the content.
    const { headers } = await send(assets[0]?.name ?? '');
    expect(headers['cache-control']).toContain('immutable');
  });

  test('on a phone no page and no table is wider than the screen, and all pages are in reach', async () => {
    const { id } = await kit.issue({ name: 'A customer with a long name, Ltd. & Co. KG', plan: 'pro' });
    const { page } = await kit.open(
      '/console',
      {},
      { viewport: { width: 390, height: 844 }, isMobile: true },
    );
    const links = await page.getByRole('navigation', { name: 'Console' }).getByRole('link').all();
    expect(links.length).toBe(6);
    for (const link of links) {
      // They are in one row, which scrolls.
      await link.evaluate((node) => Reflect.get(node, 'scrollIntoView').call(node));
      const { x = -1, width = 0 } = (await link.boundingBox()) ?? {};
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x + width).toBeLessThanOrEqual(390);
    }
    const further = [...segments, `/console/keys/${id}`, '/console/plans/pro'];
    for (const path of [...(await tabsOf(page)), ...further]) {
      await show(page, kit.origin + path);
      // A chart takes its width when it has been laid out.
      await expect.poll(async () => [path, await page.evaluate(widerThanPage)]).toEqual([path, []]);
    }
    await page.goto(`${kit.origin}/console/keys`);
    const row = page.getByRole('row').filter({ hasText: 'long name' }).first();
    await row.waitFor();
    // Each value that says nothing without it has the heading of its column before it.
    await expect.poll(() => page.evaluate(labelsOfLastRow)).toEqual(['Served today']);
  });

  test('a viewer is offered no change on any page, and meets no barrier in the dark on a phone', async () => {
    const { id, customerId } = await kit.issue({ name: 'Looked at' });
    const operator = await kit.signIn();
    await operator.send('PUT', `/api/keys/${id}/ban`, { seconds: 600, reason: 'test' });
    await operator.send('POST', '/api/webhooks', { url: 'https://example.com/' });
    await kit.issueToken(['plans:read']);
    const { page } = await kit.open(
      '/console',
      { role: 'viewer' },
      { colorScheme: 'dark', viewport: { width: 360, height: 800 } },
    );
    const further = [
      ...segments,
      `/console/keys/${id}`,
      `/console/customers/${customerId}`,
      '/console/plans/pro',
    ];
    const changes = /…$|^(Add|Ban|End|Issue|Lift|Make|New|Remove|Reset|Resume|Revoke|Save|Switch|Test)\b/;
    for (const path of [...(await tabsOf(page)), ...further]) {
      await show(page, kit.origin + path);
      const offered = await page.locator('main').getByRole('button', { name: changes }).allTextContents();
      expect({ path, offered, barriers: await barriers(page) }).toEqual({ path, offered: [], barriers: [] });
    }
  });

  test('a customer, a key and a page are found from everywhere, with the keyboard alone', async () => {
    const { key, id, customerId } = await kit.issue({ name: 'Found from everywhere' });
    const hint = key.slice(0, key.lastIndexOf('_') + 5);
    const observed = await kit.open('/console/plans');
    const { page } = observed;
    await page.getByRole('heading', { name: 'Plans' }).waitFor();
    const search = page.getByRole('dialog', { name: 'Find' });
    for (const [text, found] of [
      ['from everywhere', `/console/customers/${customerId}`],
      [id, `/console/keys/${id}`],
      [hint, `/console/keys/${id}`],
      ['Audit', '/console/audit'],
    ] as const) {
      await page.keyboard.press(text === id ? 'Control+K' : '/');
      await search.getByRole('searchbox').waitFor();
      await page.keyboard.type(text);
      await search.locator(`a[href="${found}"]`).first().waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`**${found}`);
      await search.waitFor({ state: 'detached' });
    }
    await page.keyboard.press('/');
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.insertText(`Bearer ${key}`);
    await page.waitForURL(`**/console/keys/${id}`);
    await search.waitFor({ state: 'detached' });
    // On the page of the key itself, too.
    await page.keyboard.press('/');
    await search.waitFor();
    await page.keyboard.insertText(key);
    await search.waitFor({ state: 'detached' });
    expect(observed.requests.join()).not.toContain(key);
  });
});
