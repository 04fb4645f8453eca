import type { Page } from 'playwright-core';

/** Name, text or type of the element that the next key goes to. */
export const focused = `(() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element?.name || element?.textContent?.trim() || element?.type || '';
})()`;

const maxPresses = 80;

/** Presses Tab until the element with this name, text or type is focused. */
export async function tabTo(page: Page, wanted: string): Promise<void> {
  const passed: unknown[] = [];
  for (let presses = 0; presses < maxPresses; presses += 1) {
    await page.keyboard.press('Tab');
    const text = await page.evaluate(focused);
    if (text === wanted) return;
    passed.push(text);
  }
  throw new Error(`Tab does not lead to ${wanted}, but to ${passed.join(' | ')}`);
}
