import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { send } from '../support/http/http.ts';
import { expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the pages of plans', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);
  const ada = shared(() => started.signIn());

  const stored = (plan: string) => started.kit.redis.hgetall(redisKeys.plan(plan));
  const lastEntry = async () => (await readAudit(started.kit.redis, 1, { action: 'plans' }))[0];
  const create = (name: string, minute = 50, day = 500) =>
    ada.send('PATCH', `/api/plans/${name}`, { minute, day, create: true, expected: {} });
  const minuteOf = (page: Page) => page.getByLabel('Requests a minute');
  const dialog = (page: Page, name: string) => page.getByRole('dialog', { name });
  const changeLimits = (page: Page) => page.getByRole('button', { name: 'Change limits…' }).click();

  /** The limit that a client is told of. */
  async function limitOf(key: string): Promise<unknown> {
    return (await send(`${started.kit.gateway.url}/v1/pets`, { key })).headers['x-ratelimit-limit'];
  }

  test('the list shows limits, who enforces them, and customers', async () => {
    await create('listed', 1);
    const { key } = await started.kit.issue({ plan: 'listed' });
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

  test('a plan is made with the keyboard alone', async () => {
    const { page, complaints } = await started.open('/console/plans', { name: 'Grace' });
    await page.getByRole('button', { name: 'New plan…' }).focus();
    await page.keyboard.press('Enter');
    await dialog(page, 'New plan').getByLabel('Name').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement?.getAttribute("name")')).toBe('name');
    await page.keyboard.type('typed');
    await page.keyboard.press('Tab');
    await page.keyboard.type('30');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('20');
    // Past the month and the shadow limits.
    for (let tab = 0; tab < 6; tab += 1) await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toBe(`${started.origin}/console/plans/typed`);
    expect(await stored('typed')).toEqual({ minute: '30', day: '20' });
    expect(await lastEntry()).toMatchObject({ who: 'Grace', action: 'plans.set', target: 'typed' });
    expect(complaints).toEqual([]);
  });

  test('limits are typed, who is above them is shown, and saved they are in force for the next requests', async () => {
    await create('edited');
    const { key, customerId } = await started.kit.issue({ plan: 'edited', name: 'Acme' });
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
    await minuteOf(page).fill('40');
    await page.getByText('None of the busiest customers of the last minute').waitFor();
    await page.evaluate(`{
      const warnings = (globalThis.warnings = []);
      new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll('.failure-text')) warnings.push(textContent);
      }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    }`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('edited: 50 a minute, 500 a day → 40 a minute, 500 a day').waitFor();
    expect(await stored('edited')).toEqual({ minute: '40', day: '500' });
    expect(await lastEntry()).toMatchObject({ who: 'Grace', action: 'plans.set', target: 'edited' });
    await expect.poll(() => limitOf(key), { timeout: 3000 }).toBe('40');
    await page.getByText('on all gateways').waitFor();
    // The last changes say what has changed, without a press.
    const changes = page.getByRole('region', { name: 'Changes' });
    await expect.poll(() => changes.innerText()).toMatch(/Grace changed the plan edited.*minute: 50 → 40/s);
    // Not that the gateway enforces the old limits, which it does for a moment.
    expect(await page.evaluate('warnings')).toEqual([]);
    // axe-core is refused a style of its own.
    expect(complaints.filter((text) => !/inline style|preload/.test(text))).toEqual([]);
  });

  test('a day limit below the minute limit has to be confirmed', async () => {
    await create('unusual');
    const { page } = await started.open('/console/plans/unusual');
    await changeLimits(page);
    await page.getByLabel('Requests a day').fill('20');
    const save = page.getByRole('button', { name: 'Save' });
    const meant = page.getByLabel('I mean that');
    await meant.waitFor();
    await save.click();
    expect(await meant.evaluate((box) => box.matches(':invalid'))).toBe(true);
    expect(await stored('unusual')).toEqual({ minute: '50', day: '500' });
    await meant.check();
    await save.click();
    await expect.poll(() => stored('unusual')).toEqual({ minute: '50', day: '20' });
  });

  test('of two operators, the one who saves last is told what the other has saved, and loses nothing', async () => {
    await create('contested');
    const [first, second] = await Promise.all([
      started.open('/console/plans/contested', { name: 'Ada' }),
      started.open('/console/plans/contested', { name: 'Grace' }),
    ]);
    await changeLimits(first.page);
    await changeLimits(second.page);
    await minuteOf(second.page).fill('7');
    await minuteOf(first.page).fill('70');
    await first.page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => stored('contested')).toEqual({ minute: '70', day: '500' });
    await second.page.getByRole('button', { name: 'Save' }).click();
    await second.page
      .getByText('Somebody else has changed this since it was read: now it is 70 a minute, 500 a day')
      .waitFor();
    expect(await stored('contested')).toEqual({ minute: '70', day: '500' });
    expect(await minuteOf(second.page).inputValue()).toBe('7');
    await expectAccessible(second.page, 'plan-conflict');
    await expect
      .poll(async () => {
        await second.page.getByRole('button', { name: 'Cancel' }).click();
        await changeLimits(second.page);
        return minuteOf(second.page).inputValue();
      })
      .toBe('70');
  });
});
