import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the overview', { tags: ['chromium'], timeout: 120_000 }, () => {
  let key: string;
  let customerId: string;

  const kit = shared(startConsole);
  beforeAll(async () => {
    ({ key, customerId } = await kit.issue({ name: 'Acme GmbH', plan: 'business' }));
  });

  const pets = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      expect((await kit.pets(key)).status).toBe(200);
    }
  };

  /** Opens the page, and waits for its first figures. */
  async function openOverview(path = '/console', options: Parameters<typeof kit.open>[2] = {}) {
    const observed = await kit.open(path, { role: 'viewer' }, options);
    await observed.page.getByRole('heading', { name: 'Busiest customers' }).waitFor();
    return observed;
  }

  const panel = (page: Page, name: string) =>
    page.locator('.figures-now .panel').filter({ has: page.getByText(name, { exact: true }) });
  const figure = (page: Page, name: string) => panel(page, name).locator('strong').innerText();

  test('shows within seconds what clients send, without a reload', async () => {
    const observed = await openOverview();
    const { page } = observed;
    await page.getByText('All is well.').waitFor();
    const requests = async () =>
      Number.parseInt(await panel(page, 'Requests a second').locator('.quiet').innerText(), 10);
    const before = await requests();
    await pets(40);
    await expect.poll(requests).toBe(before + 40);
    expect([await figure(page, 'Success'), await figure(page, 'Refused')]).toEqual(['100%', '0']);
    expect(await figure(page, 'p99')).toMatch(/^[\d.]+ ms$/);
    const busiest = page
      .getByRole('region', { name: 'Busiest customers' })
      .getByRole('row', { name: 'Acme GmbH' });
    await expect.poll(() => busiest.innerText(), { timeout: 10_000 }).toMatch(/40\s+–/);
    expect(await busiest.getByRole('link').getAttribute('href')).toBe(`/console/customers/${customerId}`);
    expectClean(observed, kit.origin);
  });

  test('says in words what is wrong, with a link to what to do, and that it is well again', async () => {
    const { page } = await openOverview();
    await kit.redis.hset(redisKeys.plan('pro'), 'day', '-5');
    const problem = page.locator('[data-problem="invalid-setting gw:plan:pro"]');
    await problem.waitFor({ timeout: 10_000 });
    expect(await problem.textContent()).toContain('The setting gw:plan:pro in Redis is invalid');
    await problem.getByText('it is "-5"').waitFor();
    expect(await problem.getByRole('link', { name: 'Plan pro' }).getAttribute('href')).toBe(
      '/console/plans/pro',
    );
    await kit.redis.hset(redisKeys.plan('pro'), 'day', '10000');
    await page.getByText('All is well.').waitFor({ timeout: 10_000 });
  });

  test('has a chart whose figures can be read with the keyboard', async () => {
    const minute = Math.floor(Date.now() / 60_000) - 40;
    await kit.redis.hset(redisKeys.traffic(minute), { 'status:4xx': 3 });
    const { page } = await openOverview();
    const chart = page.getByRole('figure', { name: 'Requests a second' });
    await chart.locator('.legend').getByText('4xx refused').waitFor({ timeout: 25_000 });
    await chart.locator('.u-over').hover();
    await expect
      .poll(() => chart.locator('.legend').innerText())
      .toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    await chart.getByRole('button', { name: 'Show as table' }).press('Enter');
    const table = chart.getByRole('table');
    expect(await table.getByRole('columnheader').allInnerTexts()).toEqual([
      'Time',
      '2xx served',
      '4xx refused',
    ]);
    // Of a quiet time, both ends.
    expect(await table.getByRole('row').count()).toBeLessThan(60);
    expect(await table.getByRole('row').filter({ hasText: '0.05' }).count()).toBe(1);
    expect(await table.locator('time').first().getAttribute('title')).toMatch(/UTC$/);
    // It can be scrolled without a mouse.
    await chart.getByRole('region').focus();
    await chart.getByRole('button', { name: 'Show as chart' }).click();
    await chart.locator('.u-over').waitFor();
  });

  test('has beside each figure a line of the last hour, and nothing older', async () => {
    const minute = Math.floor(Date.now() / 60_000);
    await kit.redis.hset(redisKeys.traffic(minute - 90), { 'status:2xx': 1e6 });
    for (const [ago, served] of [
      [20, 10],
      [19, 40],
      [18, 20],
    ] as const) {
      const counts = { 'status:2xx': served, 'status:5xx': 10, 'refused:pro': served, 'ms:5': served };
      await kit.redis.hset(redisKeys.traffic(minute - ago), counts);
    }
    const { page } = await openOverview();
    /** Heights of the line's points: 1 is the highest of the hour. */
    const heights = async (name: string) =>
      Array.from(
        ((await panel(page, name).locator('.sparkline path').getAttribute('d')) ?? '').matchAll(
          /[ML]\S+ ([\d.]+)/g,
        ),
        ([, y]) => Number(y),
      );
    for (const name of ['Requests a second', 'Refused', 'p99']) {
      await expect.poll(() => heights(name), { message: name, timeout: 25_000 }).toContain(1);
    }
    const requests = await heights('Requests a second');
    const peak = requests.indexOf(1);
    expect(requests.slice(peak - 1, peak + 2)).toEqual([14.2, 1, 9.8]);
    // Half of the first minute's responses failed, a fifth of the second's, a third of the third's.
    const success = await heights('Success');
    expect(success).toEqual(expect.arrayContaining([12, 5.4].map((height) => expect.closeTo(height))));
  });

  test.each([
    ['light', 1280],
    ['dark', 2560],
  ] as const)('has no barriers, and nothing that overflows: %s, %d px wide', async (colorScheme, width) => {
    const observed = await openOverview('/console', { colorScheme, viewport: { width, height: 800 } });
    const { page } = observed;
    await page.locator('time-chart .u-over').first().waitFor();
    // axe-core itself sets inline styles, which the policy refuses.
    expectClean(observed, kit.origin);
    expect(await barriers(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    // All of it is on one screen.
    expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(800);
  });

  test('says that it cannot read without Redis, and what happened', { tags: ['redis-server'] }, async () => {
    const { page } = await openOverview();
    kit.server.signal('SIGSTOP');
    try {
      await page.getByText('Redis is unavailable, so nothing').waitFor({ timeout: 20_000 });
      expect(await page.getByRole('heading', { name: 'Busiest customers' }).isVisible()).toBe(true);
    } finally {
      kit.server.signal('SIGCONT');
    }
    // The only problem is open.
    const about = page.getByText('Each process limits known API keys');
    await expect.poll(() => about.isVisible(), { timeout: 20_000 }).toBe(true);
  });
});
