import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectClean, seriousBarriers } from '../support/kits/browser.ts';
import { startDocsKit, type DocsKit } from '../support/kits/docs-kit.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const paths = ['/docs', '/docs/reference', '/docs/usage', '/docs/changelog'];
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

  describe('the samples of the reference', { tags: ['curl'] }, () => {
    test('run as they are in curl and TypeScript', async () => {
      await using directory = await temporaryDirectory();
      const { page } = await kit.browser.open(`${kit.services.gateway.url}/docs/reference`);
      const env = { PATH: process.env['PATH'], ANIMAL_STORE_KEY: kit.services.key };
      const codes = async (language: string) =>
        page.locator(`[data-panel="${language}"] code`).allTextContents();
      const statuses = [];
      for (const code of await codes('curl')) {
        const { stdout } = spawnSync('sh', ['-c', code], { env, encoding: 'utf8' });
        statuses.push(/^HTTP\/1\.1 (\d+)/.exec(stdout)?.[1]);
      }
      const file = join(directory.path, 'sample.mts');
      for (const code of await codes('TypeScript')) {
        await writeFile(file, code);
        const { stdout } = spawnSync(process.execPath, [file], { env, encoding: 'utf8' });
        statuses.push(/^\d+/.exec(stdout)?.[0]);
      }
      const each = ['200', '201', '200', '200'];
      expect(statuses).toEqual([...each, ...each]);
    });
  });
});
