import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { expectClean } from '../support/kits/browser.ts';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';

describe('the frame of the console', { tags: ['chromium'] }, () => {
  let kit: ConsoleKit;
  beforeAll(async () => {
    kit = await startConsole();
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  test('a link signs in, and leaves the address without its code', async () => {
    const observed = await kit.open('/console/nowhere');
    await expect.poll(() => observed.page.title()).toContain('Not found');
    expect(observed.page.url()).toBe(`${kit.origin}/console/nowhere`);
    expectClean(observed, kit.origin);
  });

  test('the first page transfers at most 300 kB, nothing of it twice, and all from its own host', async () => {
    const observed = await kit.open('/console');
    await observed.page.getByRole('heading', { name: 'Now', exact: true }).waitFor();
    await observed.page.locator('time-chart canvas').first().waitFor();
    const files = (await observed.page.evaluate(
      `performance.getEntriesByType('resource').map(({ name, transferSize }) => ({ name, transferSize }))`,
    )) as { name: string; transferSize: number }[];
    const assets = files.filter(({ name }) => new URL(name).pathname.startsWith('/console/assets/'));
    expect(assets.length).toBeGreaterThan(20);
    expect(new Set(assets.map(({ name }) => name)).size).toBe(assets.length);
    const bytes = files.reduce((sum, { transferSize }) => sum + transferSize, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(300_000);
    expectClean(observed, kit.origin);
    // Every file is kept by the browser for good: the address changes with the content.
    const { headers } = await send(assets[0]?.name ?? '');
    expect(headers['cache-control']).toContain('immutable');
  });

  test('without a session there is the sign-in page', async () => {
    const observed = await kit.browser.open(`${kit.origin}/`);
    await observed.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(observed.page.url()).toBe(`${kit.origin}/console`);
  });
});
