import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { tabTo } from '../support/checks/keyboard.ts';
import { send } from '../support/http/http.ts';
import { barriers, expectClean, shownToCopy } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { dayUsage } from '../support/stores/day-counter.ts';

/** Counts what a hand on a mouse would press, beside what it types. */
const countPresses = `
  window.pressed = 0;
  addEventListener('pointerdown', () => { window.pressed += 1; }, { capture: true });
`;

const more = (page: Page) => page.getByRole('button', { name: 'More' }).click();

describe('the pages of customers', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  const pets = async (key: string) => (await send(`${kit.kit.gateway.url}/v1/pets`, { key })).status;
  const open = ({ customerId }: Pick<IssuedKey, 'customerId'>) =>
    kit.open(`/console/customers/${customerId}`, { name: 'Anna' });
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true });

  test('list customers with their keys, and find one by its reference', async () => {
    const { redis } = kit.kit;
    const acme = await kit.kit.issue({ name: 'Acme', plan: 'pro', day: 5000 });
    await keyIssuer(redis).store.issueFor(acme.customerId, { name: 'Acme mobile' });
    await redis.hset(redisKeys.customer(acme.customerId), { reference: 'C-4711' });
    await kit.kit.issue({ name: 'Other' });
    const observed = await kit.open('/console/customers', { name: 'Anna' });
    const { page } = observed;
    const row = page.getByRole('row', { name: /Acme/ });
    await row.waitFor();
    expect(await row.getByRole('cell').allTextContents()).toEqual([
      'Active',
      expect.stringMatching(/pro\s+own limits/),
      '0 of 5,000',
      expect.stringMatching(/^\s*$/),
      '–',
      '2',
      'C-4711',
      expect.stringMatching(/ago|now/),
      expect.stringMatching(/Add key….*Make a link.*Reset today's usage.*Suspend…/s),
    ]);
    await page.getByRole('searchbox').fill('c-47');
    await page.getByText(/^1 of \d+ customers match$/).waitFor();
    await row.getByRole('link', { name: 'Acme' }).click();
    await heading(page, 'Acme').waitFor();
    const keys = page.getByRole('region', { name: 'Keys', exact: true });
    await keys.getByRole('link', { name: 'Acme mobile' }).waitFor();
    expectClean(observed, kit.origin);
  });

  test('list what customers use, sorted by it, and suspend one from its row', async () => {
    const { redis } = kit.kit;
    const [small, large] = [
      await kit.kit.issue({ name: 'Sorted small' }),
      await kit.kit.issue({ name: 'Sorted large' }),
    ];
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().replaceAll('-', '');
    await redis.hset(redisKeys.usageMonth(small.customerId, yesterday.slice(0, 6)), {
      [yesterday.slice(6, 8)]: 40,
    });
    expect([await pets(large.key), await pets(large.key), await pets(small.key)]).toEqual([200, 200, 200]);
    const observed = await kit.open('/console/customers?search=Sorted', { name: 'Anna' });
    const { page } = observed;
    const names = () => page.locator('tbody th').allTextContents();
    await expect.poll(names).toEqual(['Sorted large', 'Sorted small']);
    const row = page.getByRole('row', { name: /Sorted large/ });
    expect(await row.innerText()).toMatch(/2 of 1,000\s+today/);
    expect(await row.locator('.sparkline').count()).toBe(1);
    const press = (heading: string) => page.getByRole('button', { name: heading }).press('Enter');
    await press('Last 30 days');
    await expect.poll(names).toEqual(['Sorted small', 'Sorted large']);
    await press('Used today');
    await expect.poll(names).toEqual(['Sorted large', 'Sorted small']);
    await press('Used today');
    await expect.poll(names).toEqual(['Sorted small', 'Sorted large']);
    expect(await page.getByRole('columnheader', { name: 'Used today' }).getAttribute('aria-sort')).toBe(
      'ascending',
    );
    expectClean(observed, kit.origin);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Actions of Sorted small' }).click();
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await page.getByRole('button', { name: 'Suspend the customer' }).click();
    await page
      .getByRole('row', { name: /Sorted small/ })
      .getByText('Suspended')
      .waitFor();
    expect([await pets(small.key), await pets(large.key)]).toEqual([401, 200]);
  });

  test('change limits of all keys, and suspend and resume all of them', async () => {
    const { store } = keyIssuer(kit.kit.redis);
    const issued = await kit.kit.issue({ name: 'Two keys' });
    const { key: further } = await store.issueFor(issued.customerId, { name: 'second' });
    const observed = await open(issued);
    const { page } = observed;
    await heading(page, 'Two keys').waitFor();
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await page.getByLabel('Own limit a minute').fill('2');
    await page.keyboard.press('Enter');
    await page.getByText('Limits changed').waitFor();
    expect([await pets(issued.key), await pets(further), await pets(further)]).toEqual([200, 200, 429]);
    await page.getByText(/The next request is refused until/).waitFor();

    await more(page);
    await page.getByRole('button', { name: 'Suspend…' }).click();
    await page.getByRole('button', { name: 'Suspend the customer' }).click();
    await page.getByText('The next request is refused: its customer is suspended').waitFor();
    expect([await pets(issued.key), await pets(further)]).toEqual([401, 401]);
    await more(page);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('The customer is active again').waitFor();
    expect(await pets(further)).toBe(429);
    expectClean(observed, kit.origin);
  });

  test('a new key is added with the keyboard alone, and works', async () => {
    const issued = await kit.kit.issue({ name: 'Keyboard' });
    const observed = await open(issued);
    const { page } = observed;
    await page.getByRole('button', { name: 'Add key…' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Name of the key').waitFor();
    await page.keyboard.insertText('Batch jobs');
    await page.keyboard.press('Enter');
    await page.getByText('It is not shown again').waitFor();
    const key = await shownToCopy(page);
    expect(await pets(key)).toBe(200);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('link', { name: 'Batch jobs' }).waitFor();
    expectClean(observed, kit.origin);
  });

  test('a link to the portal is made with the keyboard, works once, and is not shown again', async () => {
    const issued = await kit.kit.issue({ name: 'Linked' });
    const observed = await open(issued);
    const { page } = observed;
    await page.getByRole('button', { name: 'More' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Make a link to the portal');
    await page.keyboard.press('Enter');
    await page.getByText('It works once, until').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent.trim()')).toMatch(/^Copy/);
    const link = await shownToCopy(page);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const { page: portal } = await kit.browser.open(link);
    await heading(portal, 'Linked').waitFor();
    const { page: second } = await kit.browser.open(link);
    await second.getByText('This link was used before').waitFor();
    await page.reload();
    await heading(page, 'Linked').waitFor();
    expect(await page.locator('copy-field').count()).toBe(0);
    expect(observed.requests.join()).not.toContain(link.split('#code=')[1]);
  });

  test('a leaked key is found, rotated with an overlap and revoked in at most eight presses, and no counter changes', async () => {
    const issued = await kit.kit.issue({ name: 'Leaky' });
    for (let request = 0; request < 5; request += 1) expect(await pets(issued.key)).toBe(200);
    const { redis } = kit.kit;
    const observed = await kit.open('/console/keys', { name: 'Anna' });
    const { page } = observed;
    await page.getByRole('searchbox').waitFor();
    await page.evaluate(countPresses);
    await page.getByRole('searchbox').click();
    await page.keyboard.insertText(`leaked: ${issued.key}`);
    await page.keyboard.press('Enter');
    await heading(page, 'Leaky').waitFor();
    // Who used it, and since when.
    await page.getByText(/today\s+\d+ served, 0 refused/).waitFor();
    await page.getByRole('button', { name: 'Rotate the key…' }).click();
    await page.getByRole('button', { name: 'Rotate the key', exact: true }).click();
    await page.getByText('It is not shown again').waitFor();
    const key = await shownToCopy(page);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    // Both work for now, and share what is left of the limits.
    expect([await pets(key), await pets(issued.key)]).toEqual([200, 200]);
    expect(await dayUsage(redis, issued.customerId)).toBe(7);
    await page.getByRole('link', { name: issued.id }).click();
    await page.getByRole('button', { name: 'Revoke…' }).click();
    await page.getByLabel('Type Leaky to confirm').fill('Leaky');
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await page.getByText('The key is revoked: its requests').waitFor();
    expect(await page.evaluate('window.pressed')).toBeLessThanOrEqual(8);
    expect([await pets(issued.key), await pets(key)]).toEqual([401, 200]);
    expect(await dayUsage(redis, issued.customerId)).toBe(8);
    expect(page.url()).not.toContain(issued.key);
    expectClean(observed, kit.origin);
  });
});
