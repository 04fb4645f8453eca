import { describe, expect, test } from 'vitest';
import { operatorsApiDocument } from '../support/checks/operators-api.ts';
import { send } from '../support/http/http.ts';
import { expectClean, seriousBarriers } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the page of the operators’ API', { tags: ['chromium'], timeout: 120_000 }, () => {
  const started = shared(startConsole);

  test('is the description that the repository has', async () => {
    const { status, json } = await send(`${started.origin}/api/openapi.json`);
    expect({ status, json }).toEqual({ status: 200, json: operatorsApiDocument });
  });

  test.each(['light', 'dark'] as const)('is readable when it is %s, also on a phone', async (colorScheme) => {
    const opened = await started.browser.open(`${started.origin}/api/docs`, {
      colorScheme,
      viewport: { width: 390, height: 800 },
    });
    const { page } = opened;
    const section = page.locator('.operation', { hasText: 'Issue a further key' });
    expect(await section.textContent()).toMatch(/A token needs keys:write\..*Idempotency-Key.*429/s);
    await section.getByLabel('Language of the sample').selectOption('Python');
    const sample = section.locator('[data-language]').filter({ visible: true });
    expect(await sample.textContent()).toContain(
      `"${started.origin}/api/customers/cus_42dcb7237e0963b262/keys"`,
    );
    expect(await sample.textContent()).toContain(`os.environ['OPS_TOKEN']`);
    // No form sends requests from here.
    expect(await page.locator('form:visible:not([role=search])').count()).toBe(0);
    expect(await seriousBarriers(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expectClean(opened, started.origin);
    const { headers } = await send(`${started.origin}/api/docs`);
    expect(headers['content-security-policy']).toMatch(
      /default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    await page.context().close();
  });
});
