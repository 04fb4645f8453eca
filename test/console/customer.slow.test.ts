import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { postJson, send } from '../support/http/http.ts';
import { barriers, expectClean } from '../support/kits/browser.ts';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';

const who = 'Anna';

describe('the page of one customer', { tags: ['chromium'] }, () => {
  let kit: ConsoleKit;

  beforeAll(async () => {
    kit = await startConsole();
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const pets = async ({ key }: Pick<IssuedKey, 'key'>) =>
    (await send(`${kit.kit.gateway.url}/v1/pets`, { key })).status;
  /** What the records of a customer and of its key have. */
  const record = async (key: IssuedKey) => ({
    ...(await kit.kit.redis.hgetall(redisKeys.customer(key.customerId))),
    ...(await kit.kit.redis.hgetall(redisKeys.apiKey(key))),
  });
  const open = ({ id }: Pick<IssuedKey, 'id'>, options = {}) =>
    kit.open(`/console/keys/${id}`, { name: who }, options);
  const status = (page: Page) => page.getByRole('region', { name: 'State' });

  async function lastChange({ id }: IssuedKey) {
    const [entry] = await readAudit(kit.kit.redis, 1, { targets: [id] });
    return { who: entry?.who, action: entry?.action };
  }

  async function useUp(key: IssuedKey, requests: number): Promise<void> {
    for (let sent = 0; sent < requests; sent += 1) await pets(key);
  }

  test('a refused key says why, the limit is raised, and the next request is served', async () => {
    const key = await kit.kit.issue({ name: 'Over The Limit', minute: 2 });
    await useUp(key, 4);
    const observed = await open(key);
    const { page } = observed;
    await status(page)
      .getByText(/^Over its minute limit: 2 of 2 used, resets in \d+ s$/)
      .waitFor();
    expect(await page.title()).toContain('Over The Limit');
    await page.getByRole('button', { name: 'Raise its limit' }).click();
    expect(await page.evaluate('document.activeElement.name')).toBe('minute');
    await page.keyboard.type('50');
    expect((await record(key))['minute']).toBe('2');
    await page.keyboard.press('Enter');
    await page.getByText('Limits changed').waitFor();
    await status(page).getByText('Its requests are served').waitFor();
    expect((await record(key))['minute']).toBe('50');
    expect(await pets(key)).toBe(200);
    expect(await lastChange(key)).toEqual({ who, action: 'keys.set' });
    // Without a reload: the windows and the changes.
    await page.getByText('3 of 50 used', { exact: true }).waitFor();
    await page.getByText('minute: 2 → 50').waitFor();
    expectClean(observed, kit.origin);
  });

  test('the day of a key that is used up is set back', async () => {
    const key = await kit.kit.issue({ name: 'Wasted Day', day: 1 });
    await useUp(key, 2);
    const { page } = await open(key);
    await status(page)
      .getByText(/^Over its day limit: 1 of 1 used/)
      .waitFor();
    await status(page).getByRole('button', { name: 'Set the day back' }).click();
    await page.getByText('The day of Wasted Day counts from 0 again').waitFor();
    await status(page).getByText('Its requests are served').waitFor();
    expect(await lastChange(key)).toEqual({ who, action: 'usage.reset-day' });
    expect(await pets(key)).toBe(200);
  });

  test('a key is moved to another plan', async () => {
    const key = await kit.kit.issue({ name: 'Mover' });
    const { page } = await open(key);
    await page.locator('limits-form select').selectOption('pro');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('Limits changed').waitFor();
    expect((await record(key))['plan']).toBe('pro');
    expect(await lastChange(key)).toEqual({ who, action: 'keys.set' });
  });

  test('a limit that the API refuses is explained next to the form, and not saved', async () => {
    const key = await kit.kit.issue();
    const { page } = await open(key);
    await page.locator('limits-form select').selectOption('enterprise');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.locator('limits-form').getByText('An enterprise customer needs limits of its own').waitFor();
    expect((await record(key))['plan']).toBe('free');
  });

  test('name, expiry and scopes are changed', async () => {
    const key = await kit.kit.issue({ name: 'Old Name' });
    const { page } = await open(key);
    await page.getByLabel('Name', { exact: true }).fill('New Name');
    await page.getByLabel('Expires').fill('2099-05-06T07:08:09');
    await page.getByLabel('Scopes').fill('pets-service:read');
    await page.getByRole('button', { name: 'Save name, expiry and scopes' }).click();
    await page.getByRole('heading', { name: 'New Name' }).waitFor();
    const local = await page.evaluate('new Date("2099-05-06T07:08:09").toISOString()');
    expect(await record(key)).toMatchObject({
      name: 'New Name',
      expiresAt: local,
      scopes: 'pets-service:read',
    });
    const refused = await postJson(`${kit.kit.gateway.url}/v1/pets`, key.key, { name: 'Rex', categoryId: 1 });
    expect(refused.json).toMatchObject({ code: 'insufficient_scope' });
    await page.getByLabel('Scopes').fill('pets-service:raed');
    await page.getByRole('button', { name: 'Save name, expiry and scopes' }).click();
    await page.getByText('no operation needs the scope pets-service:raed').waitFor();
    expect(await record(key)).toMatchObject({ scopes: 'pets-service:read' });
  });

  test('a key is banned with a reason that its client reads, and the ban is lifted', async () => {
    const key = await kit.kit.issue({ name: 'Banned Customer' });
    const { page } = await open(key);
    await page.getByRole('button', { name: 'Ban…' }).click();
    await page.getByLabel('Reason').fill('unpaid invoice 7');
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Ban the key' }).click();
    await status(page)
      .getByText(/^Banned for another 1[45] min/)
      .waitFor();
    await status(page).getByText(`by ${who}`).waitFor();
    const refused = await send(`${kit.kit.gateway.url}/v1/pets`, { key: key.key });
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('unpaid invoice 7')]);
    expect(await lastChange(key)).toEqual({ who, action: 'bans.add' });
    await status(page).getByRole('button', { name: 'Lift the ban' }).click();
    await status(page).getByText('Its requests are served').waitFor();
    await expect.poll(() => pets(key)).toBe(200);
    expect(await lastChange(key)).toEqual({ who, action: 'bans.lift' });
  });

  test('a key is rotated: the new one is shown once, both work, and their pages lead to each other', async () => {
    const key = await kit.kit.issue({ name: 'Rotated Customer' });
    const { page } = await open(key);
    await page.getByRole('button', { name: 'Rotate the key…' }).click();
    await page.getByLabel('The old key').selectOption('3600');
    await page.getByRole('button', { name: 'Rotate the key', exact: true }).click();
    const fresh = await page.getByLabel('API key', { exact: true }).inputValue();
    expect([await pets({ key: fresh }), await pets(key)]).toEqual([200, 200]);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('link', { name: key.id }).click();
    await page.getByText('Replaced by').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/keys/${key.id}`);
    expect(await page.content()).not.toContain(fresh);
    expect(await lastChange(key)).toEqual({ who, action: 'keys.rotate' });
  });

  test('a key is revoked by typing its name, and nothing can be changed afterwards', async () => {
    const key = await kit.kit.issue({ name: 'Revoked Customer' });
    const { page } = await open(key);
    await page.getByRole('button', { name: 'Revoke…' }).click();
    const confirm = page.getByRole('button', { name: 'Revoke the key' });
    expect(await confirm.isDisabled()).toBe(true);
    await page.getByLabel('to confirm').fill('Revoked Customer');
    expect(await barriers(page)).toEqual([]);
    await confirm.click();
    await status(page).getByText('refused for good').waitFor();
    expect(await pets(key)).toBe(401);
    expect(await lastChange(key)).toEqual({ who, action: 'keys.revoke' });
    expect(await page.locator('limits-form, key-facts-form').count()).toBe(0);
    expect(await barriers(page)).toEqual([]);
  });

  test('a key with an invalid record says what is wrong, and can be revoked', async () => {
    const key = await kit.kit.issue({ name: 'Broken' });
    await kit.kit.redis.hset(redisKeys.customer(key.customerId), 'minute', 'many');
    const { page } = await open(key);
    await page.getByText('minute is not a whole number from 1 to 1000000000', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByLabel('to confirm').fill(key.id);
    await page.getByRole('button', { name: 'Revoke the key' }).click();
    await expect.poll(() => pets(key)).toBe(401);
  });

  test('while a form is edited the windows go on, and a change by somebody else is not overwritten', async () => {
    const key = await kit.kit.issue({ name: 'Edited Twice' });
    const { page } = await open(key);
    const minute = page.locator('limits-form [name=minute]');
    await minute.fill('70');
    await useUp(key, 3);
    await page.getByText('3 of 60 used', { exact: true }).waitFor();
    expect(await minute.inputValue()).toBe('70');
    const other = await kit.signIn({ name: 'Ben' });
    const { rev } = (await other.send('GET', `/api/keys/${key.id}`)).body as { rev: number };
    await other.send('PATCH', `/api/keys/${key.id}`, { rev, minute: 90 });
    await page.getByText('Somebody else has changed this while you edit it').waitFor();
    expect(await minute.inputValue()).toBe('70');
    await page.getByRole('button', { name: 'Save limits' }).click();
    await page.getByText('own limit of 90 a minute').waitFor();
    expect((await record(key))['minute']).toBe('90');
    await page.getByRole('button', { name: 'Show what is there now' }).click();
    expect(await minute.inputValue()).toBe('90');
  });

  test('the last failed requests of a customer and the changes of a key are shown', async () => {
    const key = await kit.kit.issue({ name: 'With History', minute: 1 });
    await useUp(key, 3);
    const stored = redisKeys.failures(key.customerId);
    await expect.poll(() => kit.kit.redis.hkeys(stored)).toEqual(['rate_limit_exceeded']);
    const { page } = await open(key);
    await page.getByRole('region', { name: 'Changes' }).getByText('keys.issue').waitFor();
    await page.goto(`${kit.origin}/console/customers/${key.customerId}`);
    const failed = page.getByRole('region', { name: 'Last failed requests' });
    await failed.getByText('429 rate_limit_exceeded').first().waitFor();
    expect(await failed.getByRole('link', { name: key.id }).count()).toBe(2);
  });

  test('a viewer sees everything and is offered no change', async () => {
    const key = await kit.kit.issue({ name: 'Only Looked At', minute: 1 });
    await useUp(key, 2);
    const { page } = await kit.open(`/console/keys/${key.id}`, { role: 'viewer' });
    await status(page).getByText('Over its minute limit').waitFor();
    await page.getByText("You have a viewer's link").waitFor();
    await page.getByRole('heading', { name: 'Changes' }).waitFor();
    expect(await page.locator('main form, main button:not(time-chart button)').count()).toBe(0);
  });

  test('an unknown id says so', async () => {
    const { page } = await open({ id: 'key_none' });
    expect(await page.getByRole('alert').textContent()).toContain(
      'There is no API key with the id "key_none"',
    );
  });

  test.each(['light', 'dark'] as const)(
    'no barriers, and nothing scrolls sideways: %s',
    async (colorScheme) => {
      const key = await kit.kit.issue({ name: 'Accessible', minute: 1 });
      await useUp(key, 2);
      // Another page for each width would need more connections than the admin port has for an address.
      const { page } = await open(key, { colorScheme });
      await page.getByRole('heading', { name: 'Changes' }).waitFor();
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        // The page learns of its width with its next frame.
        await expect
          .poll(() => page.evaluate('document.documentElement.scrollWidth'))
          .toBeLessThanOrEqual(width);
        expect(await barriers(page)).toEqual([]);
      }
    },
  );
});
