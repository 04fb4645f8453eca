import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';

const now = new Date();
const lastMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1));
const month = lastMonth.toISOString().slice(0, 7);
const monthName = lastMonth.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

describe('the page Usage', { tags: ['chromium'], timeout: 120_000 }, () => {
  test('shows a viewer the months, the plans and the largest customers of one, and its download', async () => {
    // Another process, whose sums are not those of the page before.
    await using other = await startConsole();
    const { customerId } = await other.issue({ name: 'Acme', plan: 'pro' });
    await other.redis.hset(redisKeys.usageMonth(customerId, month.replace('-', '')), {
      id: customerId,
      p07: 'pro',
      '07': 4321,
      r07: 21,
      x07: 1000,
    });
    await other.redis.hset(redisKeys.usageTotals(month.replace('-', '')), {
      '07 served pro': 3321,
      '07 units pro': 4321,
      '07 refused pro': 21,
    });
    await other.redis.zadd(redisKeys.usageRanking(month.replace('-', '')), 4321, customerId);
    const observed = await other.open('/console', { role: 'viewer' });
    const { page } = observed;
    await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click();
    const row = page
      .getByRole('region', { name: 'Months', exact: true })
      .getByRole('row', { name: monthName });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/\s1\s+3,321\s+21\s+4,321\s/);
    await row.getByRole('link', { name: monthName, exact: true }).press('Enter');
    expect(new URL(page.url()).search).toBe(`?month=${month}`);
    const plan = page.getByRole('region', { name: 'Plans' }).getByRole('row', { name: 'pro' });
    expect(await plan.innerText()).toMatch(/pro\s+3,321\s+21\s+4,321/);
    const largest = page
      .getByRole('region', { name: 'Largest customers' })
      .getByRole('row', { name: 'Acme' });
    expect(await largest.innerText()).toMatch(/Acme\s+pro\s+3,321\s+21\s+4,321/);
    await page.reload();
    await page.getByRole('heading', { name: `Largest customers in ${monthName}` }).waitFor();
    const chart = page.getByRole('figure', { name: 'Requests by month' });
    await chart.locator('.u-over').waitFor();
    expectClean(observed, other.origin);

    const download = page.waitForEvent('download');
    await row.getByRole('link', { name: `Download CSV of ${monthName}` }).click();
    const file = await download;
    expect(file.suggestedFilename()).toBe(`usage-${month}-01.csv`);
    expect(await readFile(await file.path(), 'utf8')).toBe(
      `id,name,date,plan,served,refused,units\n${customerId},Acme,${month}-07,pro,3321,21,4321\n`,
    );

    await chart.getByRole('button', { name: 'Show as table' }).press('Enter');
    expect(await chart.getByRole('row').nth(2).innerText()).toMatch(/3,321\s+21/);
    expect(await barriers(page)).toEqual([]);
  });
});
