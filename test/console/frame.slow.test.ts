import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

  test('without a session there is the sign-in page', async () => {
    const observed = await kit.browser.open(`${kit.origin}/`);
    await observed.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(observed.page.url()).toBe(`${kit.origin}/console`);
  });
});
