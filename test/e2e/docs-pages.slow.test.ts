import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectAccessible } from '../support/checks/console-page.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { barriers, expectClean, startBrowser, type TestBrowser } from '../support/kits/browser.ts';
import { shared } from '../support/kits/shared.ts';

/** The operation with this heading in the reference. */
const operation = (page: Page, name: string) =>
  page.locator('.operation').filter({ has: page.getByRole('heading', { name }) });

describe('the documentation in a browser', { tags: ['chromium'] }, () => {
  const services = shared(startBothServices);
  const browser = shared(startBrowser);

  const open = (path: string, options?: Parameters<TestBrowser['open']>[1]) =>
    browser.open(services.gateway.url + path, options);

  const enterKey = (page: Page) => page.getByLabel('API key').fill(services.key);

  test('/ leads to the guide, whose samples have the address of this gateway', async () => {
    const opened = await open('/');
    expect(opened.page.url()).toBe(`${services.gateway.url}/docs`);
    expect(await opened.page.locator('pre').allTextContents()).toContainEqual(
      expect.stringContaining(`${services.gateway.url}/v1/pets?limit=2`),
    );
    expectClean(opened, services.gateway.url);
  });

  test.each(['/docs', '/docs/reference', '/docs/clients', '/docs/changelog'])(
    '%s has no barrier and does not scroll sideways, light, dark and on a phone',
    async (path) => {
      const opened = await open(path);
      const { page } = opened;
      expectClean(opened, services.gateway.url);
      // What is folded in has to be readable, too.
      await page.evaluate(
        'document.querySelectorAll("details").forEach((details) => { details.open = true; })',
      );
      await expectAccessible(page, path.slice(1).replace('/', '-'));
    },
  );

  test('a word is searched on all pages', async () => {
    const opened = await open('/docs/changelog', { viewport: { width: 390, height: 800 } });
    const { page } = opened;
    await page.getByLabel('Search the documentation').fill('list all animals');
    await page.keyboard.press('Enter');
    await page.getByText(/^\d+ found: list all animals$/).waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('main').getByRole('link').first().click();
    await page.waitForURL('**/docs/reference#list-all-animals');
    expectClean(opened, services.gateway.url);
  });

  test('with a key, requests are sent and 64-bit ids shown exactly', async () => {
    const opened = await open('/docs/reference');
    const { page } = opened;
    await enterKey(page);
    const create = operation(page, 'Add an animal');
    await create.getByText('Try it').click();
    await create.getByLabel('Body (JSON)').fill('{"name": "Luna", "categoryId": 9007199254740993}');
    await create.getByRole('button', { name: 'Send' }).click();
    await create.locator('[data-status] strong').waitFor();
    expect(await create.locator('[data-status]').textContent()).toBe('201 Created');
    expect(await create.locator('pre[data-body]').textContent()).toContain('"categoryId": 9007199254740993');

    const get = operation(page, 'Get an animal');
    await get.getByText('Try it').click();
    await get.getByLabel('petId').fill('4711');
    await get.getByRole('button', { name: 'Send' }).click();
    await get.getByRole('link', { name: 'What to do about pet_not_found' }).waitFor();
    // The browser itself reports a 404 that a script has asked for.
    expect(opened.complaints.splice(0)).toEqual([expect.stringContaining('404')]);
    expectClean(opened, services.gateway.url);
  });

  test('the key is in the page alone: in no storage, and forgotten with it', async () => {
    const { page } = await open('/docs/reference');
    await enterKey(page);
    expect(await page.content()).not.toContain(services.key);
    expect(await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length')).toBe(
      0,
    );
    await page.reload();
    expect(await page.getByLabel('API key').inputValue()).toBe('');
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
    await page.keyboard.type(services.key);
    await focusOn('Try it');
    await page.keyboard.press('Enter');
    await focusOn('listPets-limit');
    await page.keyboard.type('1');
    await focusOn('Send GET /v1/pets');
    await page.keyboard.press('Enter');
    const list = operation(page, 'List all animals');
    await list.getByText('200 OK').waitFor();
    expect(await list.locator('pre[data-body]').textContent()).toContain('"id": 1');
  });

  test('without JavaScript, the pages have all texts and samples', async () => {
    const { page } = await open('/docs/reference', { javaScriptEnabled: false });
    expect(await page.locator('[data-language] pre').filter({ visible: true }).count()).toBe(12);
    expect(await page.getByLabel('API key').isVisible()).toBe(false);
  });
});
