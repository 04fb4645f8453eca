import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { postJson, send } from '../support/http/http.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

const who = 'Anna';

describe('the page of one customer', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  const pets = async ({ key }: Pick<IssuedKey, 'key'>) =>
    (await send(`${kit.kit.gateway.url}/v1/pets`, { key })).status;
  /** What the records of a customer and of its key have. */
  const record = async (key: IssuedKey) => ({
    ...(await kit.kit.redis.hgetall(redisKeys.customer(key.customerId))),
    ...(await kit.kit.redis.hgetall(redisKeys.apiKey(key))),
  });
  const open = ({ id }: Pick<IssuedKey, 'id'>, options = {}) =>
    kit.open(`/console/keys/${id}`, { name: who }, options);
  const openCustomer = ({ customerId }: IssuedKey) =>
    kit.open(`/console/customers/${customerId}`, { name: who });

  async function lastChange({ id }: { id: string }) {
    const [entry] = await readAudit(kit.kit.redis, 1, { targets: [id] });
    return { who: entry?.who, action: entry?.action };
  }

  async function useUp(key: IssuedKey, requests: number): Promise<void> {
    for (let sent = 0; sent < requests; sent += 1) await pets(key);
  }

  test('a key over the limit of a day leads to its customer, whose day is set back', async () => {
    const key = await kit.kit.issue({ name: 'Wasted Day', day: 1 });
    await useUp(key, 2);
    const { page } = await open(key);
    await page.getByText(/The next request is refused until .+: 1 of 1 used today/).waitFor();
    await page.getByRole('link', { name: 'its customer' }).click();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: "Reset today's usage" }).click();
    await page.getByText("Today's usage of Wasted Day counts from 0 again").waitFor();
    await page.getByText('The next request is served').waitFor();
    expect(await lastChange({ id: key.customerId })).toEqual({ who, action: 'usage.reset-day' });
    expect(await pets(key)).toBe(200);
  });

  test('name, expiry and scopes are changed', async () => {
    const key = await kit.kit.issue({ name: 'Old Name' });
    const { page } = await open(key);
    const change = page.getByRole('button', { name: 'Change name, expiry and scopes…' });
    await change.click();
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
    await change.click();
    await page.getByLabel('Scopes').fill('pets-service:raed');
    await page.getByRole('button', { name: 'Save name, expiry and scopes' }).click();
    await page.getByText('no operation needs the scope pets-service:raed').waitFor();
    expect(await record(key)).toMatchObject({ scopes: 'pets-service:read' });
  });

  test('while a form is edited the windows go on, and a change by somebody else is not overwritten', async () => {
    const key = await kit.kit.issue({ name: 'Edited Twice' });
    const { page } = await openCustomer(key);
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
    await page.getByText('own limit of 90 a minute').waitFor();
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
    const { page } = await open(key);
    await page.getByRole('region', { name: 'Changes' }).getByText('issued the key').waitFor();
    await page.goto(`${kit.origin}/console/customers/${key.customerId}`);
    const failed = page.getByRole('region', { name: 'Last failed requests' });
    await failed.getByText('429 rate_limit_exceeded').first().waitFor();
    expect(await failed.getByRole('link', { name: key.id }).count()).toBe(2);
  });
});
