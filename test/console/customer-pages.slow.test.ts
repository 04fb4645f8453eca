import { describe, expect, test } from 'vitest';
import { keyFields, wordOf } from '../../gateway/limits/record-fields.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { postJson } from '../support/http/http.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

/** Counts what a hand on a mouse would press, beside what it types. */
const countPresses = `
  window.pressed = 0;
  addEventListener('pointerdown', () => { window.pressed += 1; }, { capture: true });
`;

describe('the pages of customers', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  const pets = async (key: string) => (await kit.pets(key)).status;
  const open = ({ customerId }: Pick<IssuedKey, 'customerId'>) =>
    kit.open(`/console/customers/${customerId}`, { name: 'Anna' });
  const openKey = ({ id }: Pick<IssuedKey, 'id'>) => kit.open(`/console/keys/${id}`, { name: 'Anna' });
  const useUp = async ({ key }: IssuedKey, requests: number) => {
    for (let sent = 0; sent < requests; sent += 1) await pets(key);
  };
  /** What the records of a customer and of its key have. */
  const record = async (key: IssuedKey) => ({
    ...(await kit.redis.hgetall(redisKeys.customer(key.customerId))),
    ...(await kit.redis.hgetall(redisKeys.apiKey(key))),
  });

  test('list what customers use, sorted by it, and suspend one from its row', async () => {
    const { redis } = kit;
    const [small, large] = [
      await kit.issue({ name: 'Sorted small' }),
      await kit.issue({ name: 'Sorted large' }),
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

  test('name, expiry, scopes and each text are changed', async () => {
    const key = await kit.issue({ name: 'Old Name' });
    const { page } = await openKey(key);
    const change = page.getByRole('button', { name: 'Change…' });
    await change.click();
    await page.getByLabel('Name', { exact: true }).fill('New Name');
    await page.getByLabel('Expires').fill('2099-05-06T07:08:09');
    await page.getByLabel('Scopes').fill('pets-service:read');
    const save = `Save ${new Intl.ListFormat('en-GB').format(['name', ...Object.values(keyFields).map(wordOf)])}`;
    const texts = Object.values(keyFields).flatMap(({ kind, label }: { kind: string; label: string }) =>
      kind === 'text' ? [label] : [],
    );
    for (const label of texts) await page.getByLabel(label).fill(`New ${label}`);
    await page.getByRole('button', { name: save }).click();
    await page.getByRole('heading', { name: 'New Name' }).waitFor();
    const local = await page.evaluate('new Date("2099-05-06T07:08:09").toISOString()');
    expect(await record(key)).toMatchObject({
      name: 'New Name',
      expiresAt: local,
      scopes: 'pets-service:read',
    });
    for (const label of texts) await page.locator('.facts').getByText(`New ${label}`).waitFor();
    const refused = await postJson(`${kit.gateway.url}/v1/pets`, key.key, { name: 'Rex', categoryId: 1 });
    expect(refused.json).toMatchObject({ code: 'insufficient_scope' });
    await change.click();
    await page.getByLabel('Scopes').fill('pets-service:raed');
    await page.getByRole('button', { name: save }).click();
    await page.getByText('no operation needs the scope pets-service:raed').waitFor();
    expect(await record(key)).toMatchObject({ scopes: 'pets-service:read' });
  });

  test('while a form is edited the windows go on, and a change by somebody else is not overwritten', async () => {
    const key = await kit.issue({ name: 'Edited Twice' });
    const { page } = await open(key);
    const openForm = () => page.getByRole('button', { name: 'Change limits…' }).click();
    await openForm();
    const minute = page.getByLabel('Own limit a minute');
    await minute.fill('70');
    await useUp(key, 3);
    await page.getByText('3 of 60 used', { exact: true }).waitFor();
    expect(await minute.inputValue()).toBe('70');
    const other = await kit.signIn({ name: 'Ben' });
    const path = `/api/customers/${key.customerId}`;
    const { rev } = (await other.send('GET', path)).body as { rev: number };
    await other.send('PATCH', path, { rev, minute: 90 });
    await page.getByText('3 of 90 used', { exact: true }).waitFor();
    expect(await minute.inputValue()).toBe('70');
    await page.getByLabel('Reason').fill('abandoned');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('Somebody else has changed the customer').waitFor();
    expect((await record(key))['minute']).toBe('90');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await openForm();
    expect(await minute.inputValue()).toBe('90');
    await page.getByRole('button', { name: 'Cancel' }).click();
    // The reason of the change that was not made is not that of another one.
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name: "Reset today's usage" }).click();
    await page.getByText("Today's usage of Edited Twice counts from 0 again").waitFor();
    expect(await kit.lastChange()).not.toHaveProperty('reason');
  });

  test('the last failed requests of a customer and the changes of a key are shown', async () => {
    const key = await kit.issue({ name: 'With History', minute: 1 });
    await useUp(key, 3);
    const stored = redisKeys.failures(key.customerId);
    await expect.poll(() => kit.redis.hkeys(stored)).toEqual(['rate_limit_exceeded']);
    const { page } = await openKey(key);
    await page.getByRole('region', { name: 'Changes' }).getByText('issued the key').waitFor();
    await page.goto(`${kit.origin}/console/customers/${key.customerId}`);
    const failed = page.getByRole('region', { name: 'Last failed requests' });
    await failed.getByText('429 rate_limit_exceeded').first().waitFor();
    expect(await failed.getByRole('link', { name: key.id }).count()).toBe(2);
  });

  test('an operator on call finds the customer of a pasted key, sees why it is refused, and raises its limit, in at most five clicks', async () => {
    const { key } = await kit.issue({ name: 'Acme', plan: 'free' });
    const get = () => kit.pets(key);
    const statuses: number[] = [];
    for (let request = 0; request <= 60; request += 1) statuses.push((await get()).status);
    expect(statuses.slice(0, 60).every((status) => status === 200)).toBe(true);
    expect(statuses.at(-1)).toBe(429);

    const observed = await kit.open('/console');
    const { page } = observed;
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.evaluate(countPresses);
    await page.getByRole('link', { name: 'Customers', exact: true }).click();
    await page.getByRole('searchbox').click();
    await page.keyboard.insertText(`curl -H 'Authorization: Bearer ${key}'`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Acme' }).waitFor();
    await page.getByText('60 of 60 used', { exact: true }).waitFor();
    await page.locator('.facts').getByRole('link', { name: 'Acme' }).click();
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await expect.poll(() => page.evaluate('document.activeElement?.getAttribute("name")')).toBe('minute');
    await page.keyboard.insertText('600');
    await page.getByText(/from the next request on/i).waitFor();
    await page.getByRole('button', { name: 'Save limits' }).click();
    await expect.poll(async () => (await get()).status).toBe(200);
    expect(await page.evaluate('window.pressed')).toBeLessThanOrEqual(5);
    await page.getByText(/^\d+ of 600 used$/).waitFor();

    expect((await get()).headers['x-ratelimit-limit']).toBe('600');
    const [last] = await kit.redis.xrevrange('gw:audit', '+', '-', 'COUNT', 1);
    expect(last?.[1]).toEqual(expect.arrayContaining(['Ada', 'customers.set']));
    expect(page.url()).not.toContain(key);
    expectClean(observed, kit.origin);
  });
});
