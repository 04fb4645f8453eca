import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the pages of plans', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);
  const ada = shared(() => started.signIn());

  const stored = (plan: string) => started.redis.hgetall(redisKeys.plan(plan));
  const create = (name: string, minute = 50, day = 500) =>
    ada.send('PATCH', `/api/plans/${name}`, { minute, day, create: true, expected: {} });
  const minuteOf = (page: Page) => page.getByLabel('Requests a minute');
  const changeLimits = (page: Page) => page.getByRole('button', { name: 'Change limits…' }).click();

  /** The limit that a client is told of. */
  const limitOf = async (key: string) => (await started.pets(key)).header('X-RateLimit-Limit');

  test('the list shows limits, who enforces them, and customers', async () => {
    await create('listed', 1);
    const { key } = await started.issue({ plan: 'listed' });
    await limitOf(key);
    const observed = await started.open('/console/plans');
    const { page } = observed;
    const row = page.getByRole('row', { name: /^listed/ });
    await expect.poll(() => row.innerText()).toMatch(/^listed\s+1\s+500\s+on all gateways\s+1\s+⋯$/);
    await expectAccessible(page, 'plans');
    await page.getByRole('link', { name: 'listed', exact: true }).click();
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('Plan listed');
    expect(page.url()).toBe(`${started.origin}/console/plans/listed`);
    expectClean({ ...observed, complaints: [] }, started.origin);
  });

  test('limits are typed, who is above them is shown, and saved they are in force for the next requests', async () => {
    await create('edited');
    const { key, customerId } = await started.issue({ plan: 'edited', name: 'Acme' });
    for (let request = 0; request < 3; request += 1) expect(await limitOf(key)).toBe('50');
    const { page, complaints } = await started.open('/console/plans/edited', { name: 'Grace' });
    await changeLimits(page);
    const above = page.getByRole('region', { name: 'Busiest customers above these limits' });
    // Gateways report every two seconds how busy customers are.
    await expect
      .poll(
        async () => {
          await minuteOf(page).fill('50');
          await minuteOf(page).fill('3');
          await page
            .getByText(/above these limits/i)
            .first()
            .waitFor();
          return above.count();
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBe(1);
    expect(await above.getByRole('row').nth(1).innerText()).toMatch(/^Acme\s+3 of 3 a minute$/);
    expect(await above.getByRole('link', { name: 'Acme' }).getAttribute('href')).toBe(
      `/console/customers/${customerId}`,
    );
    await expectAccessible(page, 'plan-preview');
    expect(await stored('edited')).toEqual({ minute: '50', day: '500' });
    await minuteOf(page).fill('4e1');
    await page.getByText('None of the busiest customers of the last minute').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('edited: 50 a minute, 500 a day → 40 a minute, 500 a day').waitFor();
    expect(await stored('edited')).toEqual({ minute: '40', day: '500' });
    expect(await started.lastChange({ action: 'plans' })).toMatchObject({
      who: 'Grace',
      action: 'plans.set',
      target: 'edited',
    });
    await expect.poll(() => limitOf(key), { timeout: 3000 }).toBe('40');
    await page.getByText('on all gateways').waitFor();
    // axe-core is refused a style of its own.
    expect(complaints.filter((text) => !/inline style|preload/.test(text))).toEqual([]);
  });
});
