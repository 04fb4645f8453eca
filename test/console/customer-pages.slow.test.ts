import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { keyFields, wordOf } from '../../gateway/limits/record-fields.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { tabTo } from '../support/checks/keyboard.ts';
import { postJson, send } from '../support/http/http.ts';
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
  const openKey = ({ id }: Pick<IssuedKey, 'id'>) => kit.open(`/console/keys/${id}`, { name: 'Anna' });
  const useUp = async ({ key }: IssuedKey, requests: number) => {
    for (let sent = 0; sent < requests; sent += 1) await pets(key);
  };
  /** What the records of a customer and of its key have. */
  const record = async (key: IssuedKey) => ({
    ...(await kit.kit.redis.hgetall(redisKeys.customer(key.customerId))),
    ...(await kit.kit.redis.hgetall(redisKeys.apiKey(key))),
  });
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
      expect.stringMatching(/New key….*Make a link.*Reset today's usage.*Suspend…/s),
    ]);
    await page.getByRole('searchbox').fill('c-47');
    await page.getByText(/^1 match of \d+ customers?$/).waitFor();
    await row.getByRole('link', { name: 'Acme' }).click();
    await heading(page, 'Customer Acme').waitFor();
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
    await heading(page, 'Customer Two keys').waitFor();
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

  test.each(['customer', 'list of keys'])(
    'a new key is added on the page of the %s with the keyboard alone, and works',
    async (place) => {
      const issued = await kit.kit.issue({ name: `Keyboard ${place}` });
      const observed = place === 'customer' ? await open(issued) : await kit.open('/console/keys');
      const { page } = observed;
      await page.getByRole('button', { name: 'New key…' }).focus();
      await page.keyboard.press('Enter');
      await page.getByLabel('Name of the key').waitFor();
      if (place !== 'customer') {
        await page.keyboard.insertText('keyboard list');
        await page.keyboard.press('Tab');
      }
      await page.keyboard.insertText('Batch jobs');
      await page.keyboard.press('Enter');
      await page.getByText('It is not shown again').waitFor();
      const key = await shownToCopy(page);
      expect(await pets(key)).toBe(200);
      await page.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByText('Batch jobs').first().waitFor();
      expectClean(observed, kit.origin);
    },
  );

  test('a link to the portal is made with the keyboard, works once, and is not shown again', async () => {
    const issued = await kit.kit.issue({ name: 'Linked' });
    const observed = await open(issued);
    const { page } = observed;
    await page.getByRole('button', { name: 'More' }).focus();
    await page.keyboard.press('Enter');
    await tabTo(page, 'Make a link to the portal…');
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
    await heading(page, 'Customer Linked').waitFor();
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
    await heading(page, 'Key Leaky').waitFor();
    // Who used it, and since when.
    await page.getByText(/today\s+\d+ served, 0 refused/).waitFor();
    await page.getByRole('button', { name: 'Rotate…' }).click();
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

  test('name, expiry, scopes and each text are changed', async () => {
    const key = await kit.kit.issue({ name: 'Old Name' });
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
    const refused = await postJson(`${kit.kit.gateway.url}/v1/pets`, key.key, { name: 'Rex', categoryId: 1 });
    expect(refused.json).toMatchObject({ code: 'insufficient_scope' });
    await change.click();
    await page.getByLabel('Scopes').fill('pets-service:raed');
    await page.getByRole('button', { name: save }).click();
    await page.getByText('no operation needs the scope pets-service:raed').waitFor();
    expect(await record(key)).toMatchObject({ scopes: 'pets-service:read' });
  });

  test('while a form is edited the windows go on, and a change by somebody else is not overwritten', async () => {
    const key = await kit.kit.issue({ name: 'Edited Twice' });
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
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('Somebody else has changed the customer').waitFor();
    expect((await record(key))['minute']).toBe('90');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await openForm();
    expect(await minute.inputValue()).toBe('90');
  });

  test('the last failed requests of a customer and the changes of a key are shown', async () => {
    const key = await kit.kit.issue({ name: 'With History', minute: 1 });
    await useUp(key, 3);
    const stored = redisKeys.failures(key.customerId);
    await expect.poll(() => kit.kit.redis.hkeys(stored)).toEqual(['rate_limit_exceeded']);
    const { page } = await openKey(key);
    await page.getByRole('region', { name: 'Changes' }).getByText('issued the key').waitFor();
    await page.goto(`${kit.origin}/console/customers/${key.customerId}`);
    const failed = page.getByRole('region', { name: 'Last failed requests' });
    await failed.getByText('429 rate_limit_exceeded').first().waitFor();
    expect(await failed.getByRole('link', { name: key.id }).count()).toBe(2);
  });

  test('an operator on call finds the customer of a pasted key, sees why it is refused, and raises its limit, in at most five clicks', async () => {
    const { key } = await kit.kit.issue({ name: 'Acme', plan: 'free' });
    const get = () => send(`${kit.kit.gateway.url}/v1/pets`, { key });
    const statuses: number[] = [];
    for (let request = 0; request <= 60; request += 1) statuses.push((await get()).status);
    expect(statuses.slice(0, 60).every((status) => status === 200)).toBe(true);
    expect(statuses.at(-1)).toBe(429);

    const observed = await kit.open('/console');
    const { page } = observed;
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.evaluate(countPresses);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.keyboard.insertText(`curl -H 'Authorization: Bearer ${key}'`);
    await page.getByRole('heading', { name: 'Acme' }).waitFor();
    await page.getByText(/The next request is refused until .+: 60 of 60 used this minute/).waitFor();
    await page.locator('.facts').getByRole('link', { name: 'Acme' }).click();
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await page.getByLabel('Own limit a minute').click();
    await page.keyboard.insertText('600');
    await page.getByText(/from the next request on/i).waitFor();
    await page.getByRole('button', { name: 'Save limits' }).click();
    await expect.poll(async () => (await get()).status).toBe(200);
    expect(await page.evaluate('window.pressed')).toBeLessThanOrEqual(5);
    await page.getByText('The next request is served').waitFor();

    expect((await get()).headers['x-ratelimit-limit']).toBe('600');
    const [last] = await kit.kit.redis.xrevrange('gw:audit', '+', '-', 'COUNT', 1);
    expect(last?.[1]).toEqual(expect.arrayContaining(['Ada', 'customers.set']));
    expect(page.url()).not.toContain(key);
    expectClean(observed, kit.origin);
  });
});
