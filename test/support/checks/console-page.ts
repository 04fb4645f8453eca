import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { barriers } from '../kits/browser.ts';

const looks = [
  { name: 'light', colorScheme: 'light', width: 1280 },
  { name: 'dark', colorScheme: 'dark', width: 1280 },
  { name: 'phone', colorScheme: 'light', width: 360 },
] as const;

/** The page learns of the colour scheme with its next frame, which begins the transitions of colours. */
const settled = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))).then(() =>
  Promise.allSettled(document.getAnimations().map((animation) => animation.finished)))`;

/**
 * Fails if axe-core finds a barrier in what the page shows now, light, dark or on a phone, or if a phone has to scroll
 * sideways. With the environment variable SCREENSHOTS, a folder, it keeps a picture of each.
 */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  for (const { name: look, colorScheme, width } of looks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.evaluate(settled);
    const folder = process.env['SCREENSHOTS'];
    if (folder !== undefined) {
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: true });
    }
    expect({ look, barriers: await barriers(page) }).toEqual({ look, barriers: [] });
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow, `${name} ${look} has to be scrolled sideways`).toBeLessThanOrEqual(0);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
}
