import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';
import { startGateway } from '../support/kits/service.ts';

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
    expect(await busiest.getByRole('link').getAttribute('href')).toBe(`/console/customers/${id}`);
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
    // The live chart, which has few rows yet.
    await page.getByRole('button', { name: 'Show as table' }).first().click();
    await page.getByRole('region', { name: /, table$/ }).waitFor();
    expect(await barriers(page)).toEqual([]);
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
