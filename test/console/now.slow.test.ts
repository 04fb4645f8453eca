import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { send } from '../support/http/http.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';
import { startGateway } from '../support/kits/service.ts';

const iso = (ms: number) => new Date(ms).toISOString();

/** Value of a field for a time so long ago, in the zone of the browser, which is that of the tests. */
const localText = (agoMs: number) =>
  iso(Date.now() - agoMs - new Date().getTimezoneOffset() * 60_000).slice(0, 19);

/** What the time axes of the charts show. */
const axesOfCharts = `Array.from(document.querySelectorAll('traffic-charts time-chart'), ({ plot }) => {
  const { min, max } = plot.scales.x;
  return { min, max };
})`;

const opacityOfLastMark =
  "getComputedStyle(document.querySelector('.marks li:last-child .mark-text')).opacity";

describe('the page Now', { tags: ['chromium'], timeout: 120_000 }, () => {
  let kit: ConsoleKit;
  let key: string;
  let id: string;

  beforeAll(async () => {
    kit = await startConsole();
    ({ key, id } = await kit.kit.issue({ name: 'Acme GmbH', plan: 'business' }));
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  const pets = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      expect((await send(`${kit.kit.gateway.url}/v1/pets`, { key })).status).toBe(200);
    }
  };

  /** Opens the page, and waits for its first figures. */
  async function openNow(path = '/console', options: Parameters<ConsoleKit['open']>[2] = {}) {
    const observed = await kit.open(path, { role: 'viewer' }, options);
    await observed.page.getByRole('heading', { name: 'Gateways and workers' }).waitFor();
    return observed;
  }

  const figure = (page: Page, name: string) =>
    page.locator('.figures-now .panel').filter({ hasText: name }).locator('strong').innerText();

  test('shows within seconds what clients send, without a reload', async () => {
    const observed = await openNow();
    const { page } = observed;
    await page.getByText('All is well.').waitFor();
    expect(await figure(page, 'Requests a second')).toBe('0');
    await pets(40);
    await expect.poll(() => figure(page, 'Requests a second'), { timeout: 5000 }).not.toBe('0');
    expect(await figure(page, 'p99')).toMatch(/^[\d.]+ ms$/);
    const busiest = page
      .getByRole('region', { name: 'Busiest keys' })
      .getByRole('row', { name: 'Acme GmbH' });
    await expect.poll(() => busiest.innerText(), { timeout: 10_000 }).toMatch(/business\s+40\s+–\s+valid/);
    expect(await busiest.getByRole('link').getAttribute('href')).toBe(`/console/keys/${id}`);
    // Five seconds later nothing is left of it.
    await expect.poll(() => figure(page, 'Requests a second'), { timeout: 10_000 }).toBe('0');
    expectClean(observed, kit.origin);
  });

  test('shows gateways, upstreams and Redis', async () => {
    const { page } = await openNow();
    const gateways = page.getByRole('region', { name: 'Gateways and workers' });
    await expect.poll(() => gateways.innerText()).toContain(`pid ${kit.kit.gateway.pid}`);
    expect(await gateways.innerText()).toContain(new URL(kit.origin).host);
    expect(await page.getByRole('region', { name: 'Upstreams' }).innerText()).toContain(kit.kit.upstream.url);
    await expect
      .poll(() => page.locator('.facts').innerText(), { timeout: 10_000 })
      .toContain('Append-only file');
  });

  test('says in words what is wrong, with a link to what to do, and that it is well again', async () => {
    const { page } = await openNow();
    await kit.kit.redis.hset(redisKeys.plan('pro'), 'day', '-5');
    const problem = page.locator('[data-problem="invalid-setting gw:plan:pro"]');
    await problem.waitFor({ timeout: 10_000 });
    expect(await problem.innerText()).toContain('The setting gw:plan:pro in Redis is invalid');
    expect(await problem.innerText()).toContain('it is "-5"');
    expect(await problem.getByRole('link', { name: 'Plan pro' }).getAttribute('href')).toBe(
      '/console/plans/pro',
    );
    await kit.kit.redis.hset(redisKeys.plan('pro'), 'day', '10000');
    await page.getByText('All is well.').waitFor({ timeout: 10_000 });
  });

  test('has range and plan in the address, so that back and reload work', async () => {
    const { page } = await openNow();
    const charts = page.locator('traffic-charts');
    await charts.getByRole('button', { name: '7 days' }).click();
    await charts.getByLabel('Plan').selectOption('business');
    expect(new URL(page.url()).search).toBe('?last=7d&plan=business');
    await page.reload();
    await charts.getByText('Durations are recorded for all plans together').waitFor();
    expect(await charts.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
    expect(await charts.getByLabel('Plan').inputValue()).toBe('business');
    await charts.getByRole('link', { name: 'show all plans' }).click();
    await expect.poll(() => charts.getByRole('figure', { name: /^Duration/ }).count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?last=7d');
    await page.goBack();
    await expect.poll(() => charts.getByLabel('Plan').inputValue()).toBe('business');
  });

  test('begins with what the record has of the time before, in one chart of requests', async () => {
    const startMs = Math.floor((Date.now() - 50 * 60_000) / 10_000) * 10_000;
    await kit.kit.redis.hset(redisKeys.trafficBucket('10s', startMs), { 'r2xx:business': 50 });
    // A gateway whose console nobody has opened yet.
    await using other = await startGateway({
      REDIS_URL: kit.kit.server.url,
      PETS_SERVICE_URL: kit.kit.upstream.url,
    });
    const { page } = await kit.open('/console', { role: 'viewer', adminUrl: other.adminUrl });
    const chart = page.getByRole('figure', { name: /^Requests a second/ });
    await chart.getByRole('button', { name: 'Show as table' }).click();
    const row = page.getByRole('row').filter({ has: page.locator(`time[datetime="${iso(startMs)}"]`) });
    expect(await row.getByRole('cell').first().innerText()).toBe('5');
  });

  test('has the same axis in all charts; a range that is marked with the mouse is in the address', async () => {
    const { page } = await openNow();
    const charts = page.locator('traffic-charts');
    await charts.locator('.u-over').nth(2).waitFor();
    const axes = () => page.evaluate(axesOfCharts);
    const before = (await axes()) as object[];
    expect(new Set(before.map((axis) => JSON.stringify(axis))).size).toBe(1);
    await charts.locator('.u-over').nth(1).scrollIntoViewIfNeeded();
    const box = await charts.locator('.u-over').nth(1).boundingBox();
    if (box === null) throw new Error('the chart is not shown');
    await page.mouse.move(box.x + 0.25 * box.width, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.75 * box.width, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await charts.getByRole('button', { name: 'Zoom out (last hour)' }).waitFor();
    const { searchParams } = new URL(page.url());
    const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '') / 1000);
    expect((to ?? 0) - (from ?? 0)).toBeGreaterThan(1700);
    expect((to ?? 0) - (from ?? 0)).toBeLessThan(1900);
    await expect.poll(axes).toEqual([0, 1, 2].map(() => ({ min: from, max: to })));
    // A shared link shows the same.
    await page.reload();
    await charts.locator('.u-over').nth(2).waitFor();
    await expect.poll(axes).toEqual([0, 1, 2].map(() => ({ min: from, max: to })));
    await charts.locator('.u-over').first().dblclick();
    await expect.poll(() => new URL(page.url()).search).toBe('');
    await page.goBack();
    await expect.poll(() => new URL(page.url()).searchParams.has('from')).toBe(true);
  });

  test('takes a range of its own from the keyboard, and leaves it again', async () => {
    const { page } = await openNow('/console?last=6h');
    const charts = page.locator('traffic-charts');
    await charts.getByLabel('From').fill('2026-11-25T10:00:00');
    await charts.getByLabel('To', { exact: true }).fill('2026-11-25T09:00:00');
    await charts.getByLabel('To', { exact: true }).press('Enter');
    await charts.getByText('The beginning has to be before the end.').waitFor();
    await charts.getByLabel('From').fill(localText(3_600_000));
    await charts.getByLabel('To', { exact: true }).fill(localText(1_800_000));
    await charts.getByRole('button', { name: 'Show', exact: true }).press('Enter');
    await charts.getByRole('button', { name: 'Zoom out (6 hours)' }).press('Enter');
    expect(new URL(page.url()).search).toBe('?last=6h');
    expect(await charts.getByRole('button', { name: '6 hours' }).getAttribute('aria-pressed')).toBe('true');
  });

  test('marks changes by operators in the charts, with the mouse, the keyboard and as a list', async () => {
    await kit.kit.issue({ name: 'Marked GmbH', plan: 'free' });
    const { page } = await openNow();
    const charts = page.locator('traffic-charts');
    const mark = charts.getByRole('list', { name: 'Changes' }).first().getByRole('button').last();
    await mark.waitFor();
    const text = mark.locator('.mark-text');
    const opacity = async () => Number(await page.evaluate(opacityOfLastMark));
    // The chart ends some seconds ago.
    await expect
      .poll(() => text.innerText(), { timeout: 20_000 })
      .toMatch(/tests: keys\.issue Marked GmbH|more$/);
    expect(await opacity()).toBe(0);
    await mark.focus();
    await expect.poll(opacity).toBe(1);
    await page.keyboard.press('Shift+Tab');
    await expect.poll(opacity).toBe(0);
    await mark.hover();
    await expect.poll(opacity).toBe(1);
    await charts.getByText('Changes by operators in this time').click();
    const list = charts.getByRole('region', { name: 'Changes' });
    await list.getByRole('row').filter({ hasText: 'Marked GmbH' }).first().waitFor();
    expect(await list.innerText()).not.toContain('console.sign_in');
    expect(await barriers(page)).toEqual([]);
  });

  test('says to somebody with an empty fleet what to do, and has charts once it is done', async () => {
    await using empty = await startConsole();
    const observed = await empty.open('/console');
    const { page } = observed;
    await page.getByRole('heading', { name: 'No requests yet' }).waitFor();
    expect(await page.getByRole('figure').count()).toBe(0);
    // axe-core itself sets inline styles, which the policy refuses.
    expectClean(observed, empty.origin);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Issue a key' }).press('Enter');
    await page.getByLabel('Name of the customer').fill('First GmbH');
    await page.getByRole('button', { name: 'Issue the key' }).press('Enter');
    const key = await page.getByLabel('API key', { exact: true }).inputValue();
    recordSecrets(key);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('1 key', { exact: true }).waitFor();
    const command = await page.getByLabel('Command that sends a request').inputValue();
    const [, url] = /^curl -H 'Authorization: Bearer YOUR_KEY' (http\S+)$/.exec(command) ?? [];
    expect((await send(url ?? '', { key })).status).toBe(200);
    await page.getByRole('figure', { name: 'Requests a second' }).waitFor({ timeout: 5000 });
    expect(await page.getByRole('heading', { name: 'No requests yet' }).count()).toBe(0);
  });

  test('has charts whose figures can be read and series turned off with the keyboard', async () => {
    await send(`${kit.kit.gateway.url}/v1/pets`);
    const { page } = await openNow();
    const chart = page.locator('traffic-charts').getByRole('figure', { name: 'Requests a second' });
    const refused = chart.getByRole('button', { name: '4xx refused' });
    await refused.waitFor({ timeout: 15_000 });
    await refused.press('Space');
    expect(await refused.getAttribute('aria-pressed')).toBe('false');
    await refused.press('Enter');
    expect(await refused.getAttribute('aria-pressed')).toBe('true');
    await chart.locator('.u-over').hover();
    await expect
      .poll(() => chart.locator('.readout').innerText())
      .toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    await chart.getByRole('button', { name: 'Show as table' }).press('Enter');
    const table = chart.getByRole('table');
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
      'Time',
      '2xx served',
      '4xx refused',
    ]);
    expect(await table.getByRole('row').count()).toBeGreaterThan(350);
    expect(await table.locator('time').first().getAttribute('title')).toMatch(/UTC$/);
    // It can be scrolled without a mouse.
    await chart.getByRole('region').focus();
    await chart.getByRole('button', { name: 'Show as chart' }).click();
    await chart.locator('.u-over').waitFor();
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 2560],
  ] as const)('has no barriers, and nothing that overflows: %s, %d px wide', async (colorScheme, width) => {
    const observed = await openNow('/console', { colorScheme, viewport: { width, height: 900 } });
    const { page } = observed;
    await page.locator('traffic-charts .u-over').first().waitFor();
    // axe-core itself sets inline styles, which the policy refuses.
    expectClean(observed, kit.origin);
    expect(await barriers(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  });

  test('has no barriers with a chart as a table', async () => {
    const { page } = await openNow();
    await page.getByRole('button', { name: 'Show as table' }).first().click();
    await page.getByRole('region', { name: /, table$/ }).waitFor();
    expect(await barriers(page)).toEqual([]);
  });

  test('leads from a problem to what the documents say about it', async () => {
    const { page } = await openNow();
    const { key: broken, ...place } = await kit.kit.issue({ name: 'Broken', plan: 'free' });
    await kit.kit.redis.hset(redisKeys.customer(place.customerId), { minute: 'many' });
    await send(`${kit.kit.gateway.url}/v1/pets`, { key: broken });
    const problem = page.locator('[data-problem^="invalid-setting gw:customer:"]');
    await problem.getByRole('link', { name: 'What to do: GatewayInvalidSettings' }).press('Enter');
    const heading = page.getByRole('heading', { name: 'GatewayInvalidSettings' });
    await heading.waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('gatewayinvalidsettings');
    expect(new URL(page.url()).pathname).toBe('/console/documents/alerts');
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('link', { name: 'Runbook' }).press('Enter');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.goBack();
    await heading.waitFor();
    await kit.kit.redis.del(redisKeys.apiKey(place));
  });

  test('asks to sign in again when the session ends, and then goes on', async () => {
    const { page } = await openNow();
    await kit.kit.redis.del(redisKeys.consoleSessions);
    const link = page.getByLabel('Link or code');
    await link.waitFor({ timeout: 15_000 });
    await link.fill(await kit.makeCode());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await link.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByText('Disconnected').count(), { timeout: 10_000 }).toBe(0);
    await pets(10);
    await expect.poll(() => figure(page, 'Requests a second'), { timeout: 10_000 }).not.toBe('0');
  });

  test('says that it is disconnected while the gateway restarts, and recovers by itself', async () => {
    const { page } = await openNow();
    const { gateway, server, upstream } = kit.kit;
    await gateway.stop();
    await page.getByText('Disconnected, retrying…').waitFor({ timeout: 10_000 });
    const restarted = await startGateway({
      REDIS_URL: server.url,
      PETS_SERVICE_URL: upstream.url,
      GATEWAY_ADMIN_PORT: new URL(kit.origin).port,
    });
    onTestFinished(() => restarted[Symbol.asyncDispose]());
    await expect.poll(() => page.getByText('Disconnected').count(), { timeout: 15_000 }).toBe(0);
    const gateways = page.getByRole('region', { name: 'Gateways and workers' });
    await expect.poll(() => gateways.innerText(), { timeout: 10_000 }).toContain(`pid ${restarted.pid}`);
    expect(await gateways.innerText()).not.toContain(`pid ${gateway.pid}`);
  });
});
