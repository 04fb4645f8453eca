import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectClean, seriousBarriers } from '../support/kits/browser.ts';
import { startDocsKit, type DocsKit } from '../support/kits/docs-kit.ts';

const paths = ['/docs', '/docs/reference', '/docs/clients', '/docs/changelog'];
const appearances = [
  { name: 'light', options: { colorScheme: 'light' } },
  { name: 'dark', options: { colorScheme: 'dark' } },
  { name: 'phone width', options: { viewport: { width: 360, height: 740 } } },
] as const;

describe('the documentation in a browser', { tags: ['chromium'] }, () => {
  let kit: DocsKit;

  beforeAll(async () => {
    kit = await startDocsKit();
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  describe.each(appearances)('in $name', ({ options }) => {
    test.each(paths)(
      '%s keeps its policy, has no serious barrier and does not scroll sideways',
      async (path) => {
        const opened = await kit.browser.open(kit.services.gateway.url + path, options);
        const { page } = opened;
        // What is folded in has to be readable, too.
        await page.evaluate(
          'document.querySelectorAll("details").forEach((details) => { details.open = true; })',
        );
        expect(await seriousBarriers(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(
          0,
        );
        expectClean(opened, kit.services.gateway.url);
        await page.context().close();
      },
    );
  });
});
