import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromiumPath } from '../programs.ts';
import { countCoverage } from './browser-coverage.ts';

export interface ObservedPage {
  page: Page;
  /** Errors, warnings and violations of the Content-Security-Policy. */
  complaints: string[];
  /** URLs of all requests. */
  requests: string[];
}

export type TestBrowser = Awaited<ReturnType<typeof startBrowser>>;

/** Chromium, without a window. */
export async function startBrowser() {
  const browser: Browser = await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    // Chromium refuses to run as root with its sandbox. It opens pages of this project only.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  /** Open pages: the test that has opened each, and how it ends. */
  let pages: { test: string | undefined; end: () => Promise<void> }[] = [];

  async function endPages(isOver: (test: string | undefined) => boolean): Promise<void> {
    const over = pages.filter(({ test }) => isOver(test));
    pages = pages.filter((page) => !over.includes(page));
    await Promise.allSettled(over.map(({ end }) => end()));
  }

  return {
    /** Opens a page in a session of its own. Every page records what it must not do. */
    async open(url: string, options: BrowserContextOptions = {}) {
      const test = expect.getState().currentTestName;
      // Those of earlier tests would use up the connections that the admin port has.
      await endPages((other) => other !== undefined && other !== test);
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      // A debugger may not run scripts of such a page either.
      const takeCoverage = options.javaScriptEnabled === false ? undefined : await countCoverage(page);
      const end = async () => {
        // A page that its test has closed has no coverage any more.
        await takeCoverage?.().catch(() => {});
        await context.close();
      };
      pages.push({ test, end });
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', ({ message }) => complaints.push(message));
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(url);
      return { page, complaints, requests };
    },
    async [Symbol.asyncDispose]() {
      await endPages(() => true);
      await browser.close();
    },
  };
}

/** Fails if the page has complained, asked another host for something, or put a key into an address. */
export function expectClean({ complaints, requests }: ObservedPage, origin: string): void {
  expect(complaints).toEqual([]);
  expect(requests.filter((url) => !url.startsWith(`${origin}/`))).toEqual([]);
  expect(requests.join()).not.toContain('pets_');
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface AxeResults {
  violations: { id: string; nodes: { target: unknown }[] }[];
}

/** Barriers that axe-core finds, each with the elements that have them. */
export async function barriers(page: Page): Promise<string[]> {
  // Evaluated by the debugger, and so not subject to the page's policy.
  await page.evaluate(readFileSync(axePath, 'utf8'));
  const { violations } = (await page.evaluate('axe.run(document)')) as AxeResults;
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${JSON.stringify(target)}`));
}
