import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { expectAccessible } from '../support/checks/console-page.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { focused, tabTo } from '../support/checks/keyboard.ts';
import { send } from '../support/http/http.ts';
import { expectClean, startBrowser } from '../support/kits/browser.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { portalCode } from '../support/kits/portal-kit.ts';
import { shared } from '../support/kits/shared.ts';

async function pressButton(page: Page, text: string): Promise<void> {
  await tabTo(page, text);
  await page.keyboard.press('Enter');
}

describe('the page of the portal', { tags: ['chromium', 'redis-server'], timeout: 180_000 }, () => {
  const kit = shared(startGatewayKit);
  const browser = shared(startBrowser);
  const origin = () => kit.gateway.url;

  const pets = async (key: string) => (await send(`${origin()}/v1/pets`, { key })).status;
  const link = async (customerId: string) =>
    `${origin()}/portal#code=${await portalCode(kit.redis, customerId)}`;

  test('a customer sees how near the limit is, gets a key, calls the API with it, rotates and revokes, all by keyboard', async () => {
    const { key: first, customerId } = await kit.issue({ name: 'Typing', plan: 'free' });
    for (let request = 0; request < 50; request += 1) expect(await pets(first)).toBe(200);
    const observed = await browser.open(await link(customerId));
    const { page } = observed;
    await page.getByRole('heading', { name: 'Typing', exact: true }).waitFor();
    expect(page.url()).toBe(`${origin()}/portal`);
    await page.getByRole('meter', { name: 'This minute: 50 of 60' }).waitFor();

    await pressButton(page, 'New key…');
    await expect.poll(() => page.evaluate(focused)).toBe('name');
    await page.keyboard.type('Typed');
    await page.keyboard.press('Enter');
    const shownKey = page.getByLabel('New API key', { exact: true });
    const key = await shownKey.inputValue();
    recordSecrets(key);
    expect(await pets(key)).toBe(200);
    const asked = page.waitForEvent('dialog');
    const left = page.evaluate("location.assign('/docs')");
    await (await asked).dismiss();
    await left;
    expect(await shownKey.inputValue()).toBe(key);
    await page.reload();
    await page
      .getByRole('cell', { name: /^pets_/ })
      .first()
      .waitFor();
    expect(await page.content()).not.toContain(key);

    const choose = async (text: string) => {
      await page.keyboard.press('Enter');
      await tabTo(page, text);
      await page.keyboard.press('Enter');
    };
    await page.getByRole('button', { name: 'Actions of Typed' }).focus();
    await choose('Rotate…');
    await expect.poll(() => page.evaluate(focused)).toBe('grace');
    await pressButton(page, 'Create the new key');
    const replacement = await shownKey.inputValue();
    recordSecrets(replacement);
    expect([await pets(key), await pets(replacement)]).toEqual([200, 200]);
    await pressButton(page, 'I have stored it');
    await shownKey.waitFor({ state: 'detached' });

    // Both keys have the same name. The table of use has a row of the key, too, some seconds after its first request.
    const actions = page.getByRole('button', { name: `Actions of Typed ${key.slice(0, 9)}` });
    const row = page.getByRole('row').filter({ has: actions });
    expect(await row.textContent()).toContain('replaced');
    expect((await row.locator('.menu').textContent())?.trim()).toBe('Revoke…');
    await actions.focus();
    await choose('Revoke…');
    await page.getByRole('heading', { name: 'Revoke Typed?' }).waitFor();
    expect(await page.getByRole('dialog', { name: 'Revoke Typed?' }).textContent()).toContain(
      key.slice(0, 9),
    );
    for (const closing of ['Enter', 'Escape']) {
      await expect.poll(() => page.evaluate(focused)).toBe('Cancel');
      await page.keyboard.press(closing);
      await page.getByRole('heading', { name: 'Revoke Typed?' }).waitFor({ state: 'detached' });
      await choose('Revoke…');
    }
    await page.getByRole('button', { name: 'Revoke the key' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The key Typed is revoked').waitFor();
    expect([await pets(key), await pets(replacement)]).toEqual([401, 200]);
    expectClean(observed, origin());
  });

  test('has no barriers, light, dark and on a phone, with its forms and without a session', async () => {
    const { key, customerId } = await kit.issue({ name: 'A customer with a long name, Ltd. & Co. KG' });
    await pets(key);
    await send(`${origin()}/v1/nowhere`, { key });
    await expect.poll(() => kit.redis.exists(`gw:failures:{${customerId}}`), { timeout: 15_000 }).toBe(1);
    const observed = await browser.open(await link(customerId));
    const { page } = observed;
    await page.getByRole('link', { name: 'not_found' }).waitFor();
    // Before axe, whose own styles the page's policy refuses.
    expectClean(observed, origin());
    await expectAccessible(page, 'portal');
    await page.getByRole('button', { name: 'New key…' }).click();
    await expectAccessible(page, 'portal-create');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have left the portal.').waitFor();
    await expectAccessible(page, 'portal-left');
  });

  test('keeps a new key and a form when the session ends, and goes on with a new link', async () => {
    const { customerId } = await kit.issue({ name: 'Slow typing', plan: 'free' });
    const { page } = await browser.open(await link(customerId));
    await page.getByRole('button', { name: 'New key…' }).click();
    await page.getByLabel('Name').fill('First');
    await page.getByRole('checkbox', { name: ':read' }).check();
    await page.getByRole('button', { name: 'Create the key' }).click();
    const shownKey = page.getByLabel('New API key', { exact: true });
    const key = await shownKey.inputValue();
    recordSecrets(key);
    const ended = page.getByText('Your session has ended');
    const endSession = async () => {
      await page.context().clearCookies();
      await ended.waitFor();
    };
    const enterAgain = async () => {
      await page.goto(await link(customerId));
      await ended.waitFor({ state: 'detached' });
    };
    await endSession();
    expect(await shownKey.inputValue()).toBe(key);
    await enterAgain();
    expect(await shownKey.inputValue()).toBe(key);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    // The key can do what was chosen.
    await page.getByRole('row', { name: /^First .*:read/ }).waitFor();
    await page.getByRole('button', { name: 'New key…' }).click();
    await page.getByLabel('Name').fill('Second');
    await endSession();
    expect(await page.getByLabel('Name').inputValue()).toBe('Second');
    await enterAgain();
    await page.getByRole('button', { name: 'Create the key' }).click();
    recordSecrets(await shownKey.inputValue());
    await page.getByRole('row', { name: /^Second/, includeHidden: true }).waitFor();
  });

  test('says that nothing can be read while Redis is unavailable, and goes on after it', async () => {
    const { customerId } = await kit.issue({ name: 'Patient' });
    const { page } = await browser.open(await link(customerId));
    await page.getByRole('heading', { name: 'Patient' }).waitFor();
    kit.server.signal('SIGSTOP');
    try {
      await page.getByText('cannot be read or changed at the moment').waitFor();
    } finally {
      kit.server.signal('SIGCONT');
    }
    await page.getByText('cannot be read or changed at the moment').waitFor({ state: 'detached' });
    expect(await page.getByRole('heading', { name: 'Patient' }).isVisible()).toBe(true);
    kit.server.signal('SIGSTOP');
    try {
      await page.reload();
      await page.getByRole('button', { name: 'Try again' }).waitFor();
    } finally {
      kit.server.signal('SIGCONT');
    }
    await page.getByRole('heading', { name: 'Patient' }).waitFor();
  });
});
