import { startBothServices, type BothServices } from './both-services.ts';
import { startBrowser, type TestBrowser } from './browser.ts';

/** Both services, and a browser for the pages of the documentation. */
export interface DocsKit extends AsyncDisposable {
  services: BothServices;
  browser: TestBrowser;
}

export async function startDocsKit(): Promise<DocsKit> {
  await using stack = new AsyncDisposableStack();
  const services = stack.use(await startBothServices());
  const browser = stack.use(await startBrowser());
  const disposables = stack.move();
  return { services, browser, [Symbol.asyncDispose]: () => disposables.disposeAsync() };
}
