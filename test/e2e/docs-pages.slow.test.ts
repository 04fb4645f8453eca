import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { dayMs } from '../../gateway/limits/utc-day.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { expectClean, seriousBarriers, type TestBrowser } from '../support/kits/browser.ts';
import { startDocsKit, type DocsKit } from '../support/kits/docs-kit.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';

/** The operation with this id in the reference. */
const operation = (page: Page, id: string) => page.locator(`section[aria-labelledby="${id}"]`);

describe('the documentation in a browser', { tags: ['chromium'] }, () => {
  let kit: DocsKit;

  beforeAll(async () => {
    kit = await startDocsKit();
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const open = (path: string, options?: Parameters<TestBrowser['open']>[1]) =>
    kit.browser.open(kit.services.gateway.url + path, options);

  async function enterKey(page: Page, key: string): Promise<void> {
    await page.getByLabel('API key').fill(key);
    await page.getByLabel('API key').press('Enter');
  }

  test('dark and light differ', async () => {
    const backgrounds = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await open('/docs', { colorScheme });
      backgrounds.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      await page.context().close();
    }
    expect(backgrounds).toEqual(['rgb(255, 255, 255)', 'rgb(16, 22, 21)']);
  });

  test('/ leads to the guide, whose samples have the address of this gateway', async () => {
    const opened = await open('/');
    expect(opened.page.url()).toBe(`${kit.services.gateway.url}/docs`);
    expect(await opened.page.locator('pre').allTextContents()).toContainEqual(
      expect.stringContaining(`${kit.services.gateway.url}/v1/pets?limit=2`),
    );
    expectClean(opened, kit.services.gateway.url);
  });

  test('a word is searched on all pages, by keyboard alone', async () => {
    const opened = await open('/docs/changelog', { viewport: { width: 390, height: 800 } });
    const { page } = opened;
    const search = page.getByLabel('Search the documentation');
    await search.focus();
    await page.keyboard.type('idempotency');
    const results = page.getByRole('search').getByRole('link');
    await results.first().waitFor();
    expect(await results.count()).toBeGreaterThan(2);
    expect(await seriousBarriers(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.keyboard.press('Escape');
    expect(await results.count()).toBe(0);
    await page.keyboard.type('zzz');
    await page.getByText('Nothing found').waitFor();
    await search.fill('list all animals');
    await page.getByText(/^\d+ found$/).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/reference#listPets');
    expect(await page.locator(':target').isVisible()).toBe(true);
    expectClean(opened, kit.services.gateway.url);
  });

  test('the feed of the changelog is XML', async () => {
    const { text } = await send(`${kit.services.gateway.url}/docs/changelog.atom`);
    const { page } = await kit.browser.open('about:blank');
    const parsed = `new DOMParser().parseFromString(${JSON.stringify(text)}, 'application/xml')`;
    expect(await page.evaluate(`${parsed}.querySelector('parsererror')`)).toBeNull();
    expect(
      await page.evaluate(`${parsed}.querySelectorAll('feed > entry > content').length`),
    ).toBeGreaterThan(1);
  });

  test('an error leads to its code on the page', async () => {
    const refused = await send(`${kit.services.gateway.url}/v1/pets/4711`, { key: kit.services.key });
    const [, address = ''] = /<([^<>]+)>; rel="help"/.exec(refused.header('Link') ?? '') ?? [];
    const { page } = await kit.browser.open(new URL(address, kit.services.gateway.url).href);
    expect(await page.locator(':target').textContent()).toBe('pet_not_found (404)');
    expect(await page.locator(':target').isVisible()).toBe(true);
  });

  test('with a key, requests are sent and 64-bit ids shown exactly', async () => {
    const opened = await open('/docs/reference');
    const { page } = opened;
    await enterKey(page, kit.services.key);
    const list = operation(page, 'listPets');
    await list.getByText('Try it').click();
    await list.getByLabel('limit').fill('2');
    await list.getByLabel('status').selectOption('available');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.locator('[data-status] strong').waitFor();
    expect(await list.locator('[data-status]').textContent()).toBe('200 OK');
    expect(JSON.parse((await list.locator('pre[data-body]').textContent()) ?? '')).toHaveLength(2);

    const create = operation(page, 'createPet');
    await create.getByText('Try it').click();
    await create.getByLabel('Body (JSON)').fill('{"name": "Luna", "categoryId": 9007199254740993}');
    await create.getByRole('button', { name: 'Send' }).click();
    await create.locator('[data-status] strong').waitFor();
    expect(await create.locator('[data-status]').textContent()).toBe('201 Created');
    expect(await create.locator('pre[data-body]').textContent()).toContain('"categoryId": 9007199254740993');

    const get = operation(page, 'getPet');
    await get.getByText('Try it').click();
    await get.getByLabel('petId').fill('4711');
    await get.getByRole('button', { name: 'Send' }).click();
    await get.getByRole('link', { name: 'What to do about pet_not_found' }).waitFor();
    // The browser itself reports a 404 that a script has asked for.
    expect(opened.complaints.splice(0)).toEqual([expect.stringContaining('404')]);
    expectClean(opened, kit.services.gateway.url);
  });

  test('the key stays in the tab: on the next page, but in no other tab, and not after it is forgotten', async () => {
    const { page } = await open('/docs/usage');
    await enterKey(page, kit.services.key);
    await page.getByText('Plan: enterprise').waitFor();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
    await page.getByRole('link', { name: 'Reference', exact: true }).click();
    await page.getByText(`begins with ${kit.services.key.slice(0, 9)}`).waitFor();
    expect(await page.content()).not.toContain(kit.services.key);
    const other = await page.context().newPage();
    await other.goto(`${kit.services.gateway.url}/docs/usage`);
    expect(await other.evaluate('sessionStorage.length + document.cookie.length')).toBe(0);
    await page.getByRole('button', { name: 'Forget key' }).click();
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
  });

  test('without a key, nothing is sent', async () => {
    const { page, requests } = await open('/docs/reference');
    const list = operation(page, 'listPets');
    await list.getByText('Try it').click();
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('Enter an API key first').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('api-key');
    expect(requests.filter((url) => url.includes('/v1/'))).toEqual([]);
  });

  test('your usage shows both windows', async () => {
    const opened = await open('/docs/usage');
    const { page } = opened;
    await enterKey(page, kit.services.key);
    await expect.poll(() => page.locator('.figure').allTextContents()).toHaveLength(2);
    for (const text of await page.locator('.figure').allTextContents()) {
      expect(text).toMatch(/^\d+ of 10,000,000$/);
    }
    expectClean(opened, kit.services.gateway.url);
  });

  test('your usage says what is wrong with a key', async () => {
    const { page } = await open('/docs/usage');
    await enterKey(page, generateApiKey());
    await page.getByText('401: This API key does not exist.').waitFor();
    await page.getByRole('link', { name: 'What to do about unknown_api_key' }).click();
    expect(page.url()).toBe(`${kit.services.gateway.url}/docs#unknown_api_key`);
  });

  test('a key with a typing error is not sent', async () => {
    const { page, requests } = await open('/docs/usage');
    for (const wrong of [
      'päts_💥',
      `${kit.services.key.slice(0, -1)}${kit.services.key.endsWith('x') ? 'y' : 'x'}`,
    ]) {
      await page.reload();
      await enterKey(page, wrong);
      await page.getByText('This is not an API key').waitFor();
    }
    expect(requests.filter((url) => url.includes('/v1/'))).toEqual([]);
  });

  test('what was copied is announced', async () => {
    const { page } = await open('/docs');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy this code' }).first().click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/\S/);
  });

  /** A key with 0, 10, 20, … and 280 served requests on the 29 days before today. */
  async function usedKey(): Promise<{ key: string; days: string[] }> {
    const redis = await connectRedis(kit.services.redisUrl);
    try {
      const { key, customerId } = await keyIssuer(redis).issue();
      const days = Array.from({ length: 29 }, (_, index) =>
        new Date(Date.now() - (29 - index) * dayMs).toISOString().slice(0, 10),
      );
      for (const [index, date] of days.entries()) {
        const [year, month, day] = date.split('-');
        await redis.hset(redisKeys.usageMonth(customerId, `${year}${month}`), {
          [`${day}`]: index * 10,
          [`p${day}`]: 'free',
          ...(index === 28 ? { [`r${day}`]: 30, [`b${day}`]: 60 } : {}),
        });
      }
      return { key, days };
    } finally {
      redis.disconnect();
    }
  }

  test('your usage of a new key says that there is none', async () => {
    const { page } = await open('/docs/usage');
    const redis = await connectRedis(kit.services.redisUrl);
    const { key } = await keyIssuer(redis).issue();
    redis.disconnect();
    await enterKey(page, key);
    await page.getByText('No requests on these days.').waitFor();
    expect(await page.locator('svg').count()).toBe(0);
  });

  test('your usage draws a bar a day, with the figures as a table', async () => {
    const { page } = await open('/docs/usage');
    const { key, days } = await usedKey();
    await enterKey(page, key);
    await page.getByRole('img', { name: '4,060 served and 30 refused requests in 30 days' }).waitFor();
    const heights = await page
      .locator('rect.served')
      .evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
    expect(heights).toHaveLength(30);
    // 280 of 310 requests, the highest bar, which is 160 high.
    expect(Math.max(...heights)).toBeCloseTo((280 / 310) * 160);
    await page.getByText('The same as a table').click();
    const rows = page.locator('.usage-days tbody tr');
    const yesterday = days.at(-1) ?? '';
    expect(await rows.filter({ hasText: yesterday }).locator('th,td').allTextContents()).toEqual([
      yesterday,
      'free',
      '280',
      '30',
      '60 s',
    ]);
    expect(await seriousBarriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
  });

  test('your usage says which key it is, when it ends, and which requests were refused', async () => {
    const redis = await connectRedis(kit.services.redisUrl);
    const { key, id, customerId, keyHash } = await keyIssuer(redis).issue({
      expiresAt: new Date(Date.now() + dayMs),
    });
    await redis.set(redisKeys.refusals(customerId), `${Date.now() - 2000} ${Date.now() - 1000} 7 minute\n`);
    await redis.set(redisKeys.ban({ customerId, keyHash }), 'scrapes the shop', 'PX', 60_000);
    redis.disconnect();
    const { page } = await open('/docs/usage', { viewport: { width: 390, height: 800 } });
    await enterKey(page, key);
    await page.getByText(`(${id})`).waitFor();
    expect(await page.locator('dl.fields dd').allTextContents()).toEqual([
      expect.stringContaining(id),
      expect.stringMatching(/\d/),
      'scrapes the shop',
    ]);
    expect(await page.locator('tbody td').allTextContents()).toEqual(expect.arrayContaining(['7', 'minute']));
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await seriousBarriers(page)).toEqual([]);
  });

  test('a language chosen by keyboard is chosen for all samples, and on the next visit', async () => {
    const { page } = await open('/docs/reference');
    const tabs = operation(page, 'listPets').getByRole('tab');
    await tabs.first().focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('TypeScript');
    await page.keyboard.press('End');
    await page.reload();
    for (const id of ['listPets', 'createPet', 'getPet', 'getUsage']) {
      const panels = operation(page, id).getByRole('tabpanel');
      expect(await panels.allTextContents()).toEqual([expect.stringContaining('import requests')]);
    }
  });

  test('the keyboard alone suffices: skip link, key, try it, send', async () => {
    const { page } = await open('/docs/reference');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    const focusOn = async (wanted: string) => {
      const seen: string[] = [];
      while (seen.length < 60) {
        await page.keyboard.press('Tab');
        const [text, outline] = (await page.evaluate(
          `(({ activeElement: a }) => [a.id || a.textContent.trim(), getComputedStyle(a).outlineStyle])(document)`,
        )) as [string, string];
        expect(outline, `focus is visible on ${text}`).not.toBe('none');
        seen.push(text);
        if (text === wanted) return;
      }
      throw new Error(`Tab does not reach ${wanted}: ${seen.join(', ')}`);
    };
    await focusOn('api-key');
    await page.keyboard.type(kit.services.key);
    await page.keyboard.press('Enter');
    await focusOn('Try it');
    await page.keyboard.press('Enter');
    await focusOn('listPets-limit');
    await page.keyboard.type('1');
    await focusOn('Send GET /v1/pets');
    await page.keyboard.press('Enter');
    const list = operation(page, 'listPets');
    await list.getByText('200 OK').waitFor();
    expect(await list.locator('pre[data-body]').textContent()).toContain('"id": 1');
  });

  test('without JavaScript, the pages have all texts and samples', async () => {
    const { page } = await open('/docs/reference', { javaScriptEnabled: false });
    expect(await page.locator('[data-panel] pre').filter({ visible: true }).count()).toBe(12);
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
  });
});
