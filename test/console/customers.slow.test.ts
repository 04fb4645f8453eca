import { createHash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { formatPlace, redisKeys, type KeyPlace } from '../../gateway/platform/redis/redis-keys.ts';
import { expectClean, type ObservedPage } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

const list = '/console/keys';

describe('the customers in the console', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  const names = (page: Page) => page.locator('tbody th').allTextContents();
  const searchField = (page: Page) => page.getByLabel('Search');

  async function search(page: Page, text: string): Promise<void> {
    await searchField(page).fill(text);
    await searchField(page).press('Enter');
  }

  /** Pastes as a person does. */
  async function paste(page: Page, text: string): Promise<void> {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await searchField(page).focus();
    await page.keyboard.press('Control+V');
    await page.keyboard.press('Enter');
  }

  /** Fails if the key is anywhere but in the body of a request. */
  async function expectNoKey({ page, complaints, requests }: ObservedPage, key: string): Promise<void> {
    const storage = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href])',
    );
    const places = [storage, complaints, requests, await page.content(), kit.gateway.output()];
    expect(JSON.stringify(places)).not.toContain(key.slice(5));
    expect(JSON.stringify(await readAudit(kit.redis, 100))).not.toContain(key.slice(5));
  }

  test('a pasted key, also in a line of a log, leads to its page and is nowhere but in the body of the request', async () => {
    const { key, id } = await kit.issue({ name: 'Pasted Customer' });
    for (const [path, heading, text] of [
      [list, 'Keys', key],
      [list, 'Keys', `level=info header="Bearer ${key}" status=429`],
      [list, 'Keys', key.slice(5)],
      ['/console/customers', 'Customers', key],
    ] as const) {
      const observed = await kit.open(path);
      const bodies: (string | null)[] = [];
      observed.page.on('request', (request) => bodies.push(request.postData()));
      await paste(observed.page, text);
      await observed.page.getByRole('heading', { name: 'Pasted Customer' }).waitFor();
      expect(observed.page.url()).toBe(`${kit.origin}${list}/${id}`);
      expect(bodies.filter((body) => body?.includes(key))).toHaveLength(1);
      await observed.page.goBack();
      await observed.page.getByRole('heading', { name: heading }).waitFor();
      expect(await searchField(observed.page).inputValue()).toBe('');
      await expectNoKey(observed, key);
      expectClean(observed, kit.origin);
    }
  });

  test('a mistyped key is wiped from the field, and is not searched for', async () => {
    const { key } = await kit.issue();
    const mistyped = `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`;
    const observed = await kit.open(list);
    await search(observed.page, mistyped);
    await observed.page.getByText('The text contains no complete API key').waitFor();
    expect(await searchField(observed.page).inputValue()).toBe('');
    // The browser itself reports the 422.
    expect(observed.complaints.splice(0)).toEqual([expect.stringContaining('422')]);
    await expectNoKey(observed, mistyped);
  });

  test('search and filters are in the address, and survive reload and back', async () => {
    await kit.issue({ name: 'Zebra Zoo', plan: 'business' });
    const banned = await kit.issue({ name: 'Zebra Farm', plan: 'pro', day: 5 });
    const api = await kit.signIn();
    await api.send('PUT', `/api/keys/${banned.id}/ban`, { seconds: 600, reason: 'test' });
    const observed = await kit.open(list);
    const { page } = observed;
    await search(page, 'zebra');
    await expect.poll(() => names(page)).toEqual(['Zebra Farm', 'Zebra Zoo']);
    expect(new URL(page.url()).search).toBe('?search=zebra');
    await page.getByLabel('State').selectOption('banned');
    await expect.poll(() => names(page)).toEqual(['Zebra Farm']);
    await page.reload();
    await expect.poll(() => names(page)).toEqual(['Zebra Farm']);
    expect(await page.getByLabel('State').inputValue()).toBe('banned');
    expect(await searchField(page).inputValue()).toBe('zebra');
    await page.goBack();
    await expect.poll(() => names(page)).toEqual(['Zebra Farm', 'Zebra Zoo']);
    await page.goto(`${kit.origin}/console/customers?search=zebra`);
    await page.getByLabel('Plan').selectOption('pro');
    await expect.poll(() => names(page)).toEqual(['Zebra Farm']);
    await page.goto(`${kit.origin}${list}?search=zebra`);
    await search(page, 'nobody of this name');
    await page.getByText('No key matches').waitFor();
    await page.getByRole('link', { name: 'clear the search and all filters' }).click();
    await expect.poll(async () => (await names(page)).length).toBeGreaterThan(2);
    expect(await searchField(page).inputValue()).toBe('');
    expectClean(observed, kit.origin);
  });

  test('among 100,000 keys, pages are read one by one, and a search reads all of them in parts', async () => {
    await fillWithKeys(kit.redis, 100_000);
    const observed = await kit.open(list);
    const { page, requests } = observed;
    await expect.poll(async () => (await names(page)).length).toBe(50);
    await page.getByText('the columns sort the 50 that are shown').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(async () => (await names(page)).length).toBe(100);
    const before = requests.length;
    await search(page, 'many 77777');
    await expect.poll(() => names(page), { timeout: 60_000 }).toEqual(['many 77777']);
    await page.getByText(/^1 match of 100,0\d\d keys$/).waitFor({ timeout: 60_000 });
    expect(requests.slice(before).filter((url) => url.includes('search=many')).length).toBeGreaterThan(4);
    await page.getByRole('button', { name: 'Search…' }).click();
    await page.keyboard.type('many 77777');
    await page.getByRole('link', { name: 'many 77777 key' }).waitFor({ timeout: 60_000 });
    await page.getByRole('link', { name: 'many 77777 customer' }).waitFor();
    expectClean(observed, kit.origin);
  }, 120_000);
});

const batchSize = 1000;

/** Writes records and indexes of customers with a key each, named `many 0`, `many 1` and so on, each older than the one before. */
async function fillWithKeys(redis: RedisClient, count: number): Promise<void> {
  for (let first = 0; first < count; first += batchSize) {
    const pipeline = redis.pipeline();
    for (let number = first; number < Math.min(count, first + batchSize); number += 1) {
      const keyHash = createHash('sha256').update(`many ${number}`).digest('hex');
      const id = `key_${number.toString(16).padStart(18, '0')}`;
      const createdAtMs = Date.UTC(2026, 0, 1) - number * 1000;
      const place: KeyPlace = { customerId: `cus_${id.slice('key_'.length)}`, keyHash };
      const { customerId } = place;
      const [name, createdAt] = [`many ${number}`, new Date(createdAtMs).toISOString()];
      pipeline.hset(redisKeys.customer(customerId), {
        id: customerId,
        name,
        createdAt,
        plan: 'free',
        rev: 1,
      });
      pipeline.hset(redisKeys.apiKey(place), { id, name, createdAt, hint: `pets_${keyHash.slice(0, 4)}…` });
      pipeline.sadd(redisKeys.customerKeys(customerId), id);
      pipeline.set(redisKeys.keyCustomer(keyHash), customerId);
      pipeline.hset(redisKeys.apiKeyIds, id, formatPlace(place));
      pipeline.zadd(redisKeys.apiKeysByCreation, createdAtMs, id);
      pipeline.zadd(redisKeys.customers, createdAtMs, customerId);
    }
    await pipeline.exec();
  }
}
