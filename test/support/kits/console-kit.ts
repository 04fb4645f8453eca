import type { BrowserContextOptions } from 'playwright-core';
import { startBrowser } from './browser.ts';
import { startConsoleApi, type Person } from './console-api-kit.ts';
import { together } from './together.ts';

/** A gateway with its console, and a browser. */
export const startConsole = (env: Record<string, string> = {}) =>
  together(async (stack) => {
    const api = stack.use(await startConsoleApi(env));
    const browser = stack.use(await startBrowser());
    /** Opens a page of the console in a browser session of its own, signed in with a link. */
    async function open(path: string, person: Person = {}, options: BrowserContextOptions = {}) {
      const observed = await browser.open(`${api.origin}${path}#code=${await api.makeCode(person)}`, options);
      await observed.page.locator('console-app main#main').waitFor();
      return observed;
    }
    return { ...api, browser, open };
  });
