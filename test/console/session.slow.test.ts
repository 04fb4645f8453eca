import { describe, expect, test } from 'vitest';
import { createConsoleSessions } from '../../gateway/control/access/console-sessions.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { barriers } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { sessionOf } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

describe('signing in to the console', { tags: ['chromium'] }, () => {
  const kit = shared(startConsole);

  const sessions = () => createConsoleSessions(sessionOf(kit.redis));
  const link = async () => `${kit.origin}/console#code=${await kit.makeCode()}`;

  test('without a session the page says how to get a link, and shows itself once one was opened in another tab', async () => {
    const { page } = await kit.browser.open(`${kit.origin}/console/plans?x=1`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText('npm run --silent ops -- console').isVisible()).toBe(true);
    expect(await page.title()).toContain('Sign in');
    await expectAccessible(page, 'sign-in');

    const other = await page.context().newPage();
    await other.goto(await link());
    await other.locator('#main').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Plans' }).waitFor();
    expect(page.url()).toBe(`${kit.origin}/console/plans?x=1`);
  });

  test('a link that was used before says so, and leaves no code in the address or the history', async () => {
    const used = await link();
    const first = await kit.browser.open(used);
    await first.page.locator('#main').waitFor();
    const { page } = await kit.browser.open(used);
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('used before');
    expect(page.url()).toBe(`${kit.origin}/console`);
    // Where there is a session already, the same link changes nothing.
    await first.page.goto(`${kit.origin}/livez`);
    await first.page.goto(used);
    await first.page.locator('#main').waitFor();
    expect(first.page.url()).toBe(`${kit.origin}/console`);
    expect(await first.page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain(
      used.split('=')[1],
    );
  });

  test('a link for somebody else that is pasted into the address bar of an open page asks first', async () => {
    const { page } = await kit.open('/console/plans', { name: 'Ada' });
    const person = page.locator('[popovertarget=session-menu]');
    const openLink = async (answer: 'accept' | 'dismiss') => {
      const asked = page.waitForEvent('dialog');
      await page.goto(`${kit.origin}/console/plans#code=${await kit.makeCode({ name: 'Grace' })}`);
      const dialog = await asked;
      expect(dialog.message()).toContain('signed in as Ada, and the link is for Grace');
      await dialog[answer]();
    };
    await openLink('dismiss');
    await page.getByText('the link is for Grace').waitFor();
    expect(await person.textContent()).toContain('Ada');
    await openLink('accept');
    await expect.poll(() => person.textContent()).toContain('Grace');
    expect(page.url()).toBe(`${kit.origin}/console/plans`);
  });

  test('a page whose session has ended, or is another one now, changes nothing and asks for a link', async () => {
    const { page } = await kit.open('/console/plans/free');
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await page.getByLabel('Requests a minute').fill('91');
    // Its next read may come first.
    await sessions().endAll();
    await page
      .getByRole('button', { name: 'Save' })
      .click({ timeout: 1000 })
      .catch(() => {});
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await kit.redis.hget(redisKeys.plan('free'), 'minute')).toBe('60');
    const other = await page.context().newPage();
    await other.goto(await link());
    await other.locator('#main').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Plan free' }).waitFor();
  });

  test('the menu says who is signed in and until when, works by keyboard, and signs out', async () => {
    const { page } = await kit.open('/console/plans', { name: 'Grace', role: 'viewer' });
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    const menu = page.locator('[popovertarget=session-menu]');
    expect(await menu.textContent()).toContain('Grace (viewer)');
    await menu.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Viewer: can change nothing').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('button', { name: 'Sign out' }).isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect((await page.context().cookies()).map(({ name }) => name)).toEqual([]);
    await page.goBack();
    await expect.poll(() => page.getByRole('heading', { name: 'Sign in' }).isVisible()).toBe(true);
  });
});
