import { describe, expect, test } from 'vitest';
import { startBothServices } from '../support/kits/both-services.ts';
import { expectClean, seriousBarriers, startBrowser, type TestBrowser } from '../support/kits/browser.ts';
import { shared } from '../support/kits/shared.ts';

describe('the documentation in a browser', { tags: ['chromium'] }, () => {
  const services = shared(startBothServices);
  const browser = shared(startBrowser);

  const open = (path: string, options?: Parameters<TestBrowser['open']>[1]) =>
    browser.open(services.gateway.url + path, options);

  test('/ leads to the guide, whose samples have the address of this gateway', async () => {
    const opened = await open('/');
    expect(opened.page.url()).toBe(`${services.gateway.url}/docs`);
    expect(await opened.page.locator('pre').allTextContents()).toContainEqual(
      expect.stringContaining(`${services.gateway.url}/v1/pets?limit=2`),
    );
    expectClean(opened, services.gateway.url);
  });

  test.each(['/docs', '/docs/reference', '/docs/clients', '/docs/changelog'])(
    '%s has no serious barrier and does not scroll sideways, light, dark and on a phone',
    async (path) => {
      const opened = await open(path);
      const { page } = opened;
      expectClean(opened, services.gateway.url);
      // What is folded in has to be readable, too.
      await page.evaluate(
        'document.querySelectorAll("details").forEach((details) => { details.open = true; })',
      );
      for (const [colorScheme, width] of [
        ['light', 1280],
        ['dark', 1280],
        ['light', 360],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 740 });
        expect({ colorScheme, width, barriers: await seriousBarriers(page) }).toMatchObject({ barriers: [] });
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect(overflow).toBeLessThanOrEqual(0);
      }
    },
  );

  test('the keyboard alone suffices: the skip link, and all samples in another language', async () => {
    const { page } = await open('/docs/reference');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    const language = page.getByLabel('Language of the sample: List all animals');
    await language.focus();
    await page.keyboard.type('P');
    await expect.poll(() => language.inputValue()).toBe('Python');
    expect(await page.locator('[data-language="Python"] pre').filter({ visible: true }).count()).toBe(4);
    expect(await page.locator('[data-language="curl"] pre').filter({ visible: true }).count()).toBe(0);
  });

  test('without JavaScript, the pages have all texts and samples', async () => {
    const { page } = await open('/docs/reference', { javaScriptEnabled: false });
    expect(await page.locator('[data-language] pre').filter({ visible: true }).count()).toBe(12);
  });
});
