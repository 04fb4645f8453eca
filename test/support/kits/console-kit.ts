import type { BrowserContextOptions } from 'playwright-core';
import { startBrowser, type ObservedPage, type TestBrowser } from './browser.ts';
import { startConsoleApi, type ConsoleApiKit, type SignIn } from './console-api-kit.ts';

export { signInWith, type ApiResponse, type ConsoleApi } from './console-api-kit.ts';

/** A gateway with its console, and a browser. */
export interface ConsoleKit extends ConsoleApiKit {
  browser: TestBrowser;
  /** Opens a page of the console in a browser session of its own, signed in with a link. */
  open(path: string, person?: SignIn, options?: BrowserContextOptions): Promise<ObservedPage>;
}

export async function startConsole(env: Record<string, string> = {}): Promise<ConsoleKit> {
  await using stack = new AsyncDisposableStack();
  const api = stack.use(await startConsoleApi(env));
  const browser = stack.use(await startBrowser());
  const { origin, makeCode } = api;
  const disposables = stack.move();
  return {
    ...api,
    browser,
    async open(path, person = {}, options = {}) {
      const { adminUrl = origin } = person;
      const observed = await browser.open(`${adminUrl}${path}#code=${await makeCode(person)}`, options);
      await observed.page.locator('console-app main#main').waitFor();
      return observed;
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
