import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

/** Chromium of the system; undefined if it is not installed. */
export const chromiumPath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) =>
  existsSync(path),
);

/** Chromium, without a window. */
export interface TestBrowser extends AsyncDisposable {
  /** Opens a page in a session of its own. Every page records what it must not do. */
  open(url: string, options?: BrowserContextOptions): Promise<ObservedPage>;
}

export interface ObservedPage {
  page: Page;
  /** Errors, warnings and violations of the Content-Security-Policy. */
  complaints: string[];
  /** URLs of all requests. */
  requests: string[];
}

export async function startBrowser(): Promise<TestBrowser> {
  const browser: Browser = await chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    // Chromium refuses to run as root with its sandbox. It opens pages of this project only.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  return {
    async open(url, options = {}) {
      const context = await browser.newContext(options);
      const page = await context.newPage();
      const complaints: string[] = [];
      const requests: string[] = [];
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', ({ message }) => complaints.push(message));
      page.on('request', (request) => requests.push(request.url()));
      await page.goto(url);
      return { page, complaints, requests };
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface AxeResults {
  violations: { id: string; impact: string | null; nodes: { target: unknown; failureSummary?: string }[] }[];
}

/** Barriers that axe-core calls serious or critical, each with the elements that have them. */
export async function seriousBarriers(page: Page): Promise<string[]> {
  // Evaluated by the debugger, and so not subject to the page's policy.
  const { readFile } = await import('node:fs/promises');
  await page.evaluate(await readFile(axePath, 'utf8'));
  const { violations } = (await page.evaluate('axe.run(document)')) as AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${JSON.stringify(target)}`));
}
