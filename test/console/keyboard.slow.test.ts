import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { focused, tabTo } from '../support/checks/keyboard.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

async function pressButton(page: Page, text: string): Promise<void> {
  await tabTo(page, text);
  await page.keyboard.press('Enter');
}

describe('with the keyboard alone', { tags: ['chromium'], timeout: 120_000 }, () => {
  const kit = shared(startConsole);

  const pets = async (key: string) => (await kit.pets(key)).status;
  const lastAction = async () => (await kit.lastChange())?.action;

  test('a key is issued, banned, served again, rotated and revoked', async () => {
    const { page } = await kit.open('/console/customers', { name: 'Anna' });
    const shownKey = page.getByLabel('API key', { exact: true });
    await page.getByRole('button', { name: 'New customer…' }).waitFor();

    await pressButton(page, 'New customer…');
    await expect.poll(() => page.evaluate(focused)).toBe('name');
    await page.keyboard.type('Typed Customer');
    await expect.poll(() => page.getByRole('dialog').locator('select').inputValue()).toBe('free');
    await page.keyboard.press('Enter');
    const key = await shownKey.inputValue();
    // Escape must not lose it.
    await page.keyboard.press('Escape');
    await page.getByText('Closing this loses the key').waitFor();
    await pressButton(page, 'I have stored it');
    await page.getByRole('heading', { name: 'Typed Customer' }).waitFor();
    expect(await pets(key)).toBe(200);

    await pressButton(page, 'Ban…');
    await expect.poll(() => page.evaluate(focused)).toBe('seconds');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate(focused)).toBe('Ban…');
    await page.keyboard.press('Enter');
    await tabTo(page, 'reason');
    await page.keyboard.type('unpaid');
    await page.keyboard.press('Enter');
    await page.getByText('unpaid; ends').waitFor();
    expect([await pets(key), await lastAction()]).toEqual([429, 'bans.add']);

    await pressButton(page, 'Lift the ban');
    await page.getByText('unpaid; ends').waitFor({ state: 'detached' });
    await expect.poll(() => pets(key)).toBe(200);

    await pressButton(page, 'Rotate…');
    await expect.poll(() => page.evaluate(focused)).toBe('graceSeconds');
    await pressButton(page, 'Rotate the key');
    const fresh = await shownKey.inputValue();
    expect(fresh).not.toBe(key);
    await pressButton(page, 'I have stored it');
    await page.getByText('Replaces', { exact: true }).waitFor();
    expect([await pets(fresh), await lastAction()]).toEqual([200, 'keys.rotate']);

    await pressButton(page, 'Revoke…');
    await expect.poll(() => page.evaluate(focused)).toBe('change-reason');
    await page.keyboard.press('Enter');
    await page.locator('.tag').getByText('Revoked').waitFor();
    expect([await pets(fresh), await lastAction()]).toEqual([401, 'keys.revoke']);
  });
});
