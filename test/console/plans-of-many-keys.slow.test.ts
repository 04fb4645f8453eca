import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';
import { fillWithKeys } from '../support/stores/many-keys.ts';

const keys = 100_000;

describe(`plans with ${keys} keys`, { tags: ['chromium', 'redis-server'] }, () => {
  let started: ConsoleKit;

  beforeAll(async () => {
    started = await startConsole();
    await fillWithKeys(started.kit.redis, keys);
  }, 120_000);

  afterAll(() => started[Symbol.asyncDispose]());

  test('the page does not wait for the counts, which come by themselves; so does the effect of limits', async () => {
    const api = await started.signIn();
    const begun = performance.now();
    const passed = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
    const first = await api.send('GET', '/api/plans');
    expect(first.body).toMatchObject({ keysAsOf: null, counting: { total: keys } });
    const figures = { api: passed(), page: '', keys: '', effectSoFar: '', effect: '' };

    const { page } = await started.open('/console/plans');
    const row = page.getByRole('row', { name: /^free/ });
    await row.waitFor();
    figures.page = passed();
    await page.getByText(/Counting the keys: [\d,]+ of 100,000…/).waitFor();
    await expect.poll(() => row.innerText(), { timeout: 60_000, interval: 100 }).toContain('100,000');
    figures.keys = passed();

    await page.goto(`${started.origin}/console/plans/free`);
    await page.getByLabel('Requests a minute').fill('70');
    const typed = performance.now();
    await page.getByText(/^So far: None of the [\d,]+ keys on this plan/).waitFor({ timeout: 10_000 });
    figures.effectSoFar = `${((performance.now() - typed) / 1000).toFixed(1)} s`;
    await page.getByText('None of the 100,000 keys on this plan').waitFor({ timeout: 60_000 });
    figures.effect = `${((performance.now() - typed) / 1000).toFixed(1)} s`;
    await page.getByLabel('Requests a minute').fill('80');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => started.kit.redis.hget('gw:plan:free', 'minute')).toBe('80');
    process.stdout.write(`${JSON.stringify(figures)}\n`);
  }, 180_000);
});
