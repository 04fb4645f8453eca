import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startConsole, type ConsoleKit } from '../support/kits/console-kit.ts';

describe('the page Now', { tags: ['chromium'] }, () => {
  let kit: ConsoleKit;
  beforeAll(async () => {
    kit = await startConsole();
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  test('look', async () => {
    const { key } = await kit.kit.issue({ name: 'Acme GmbH', plan: 'free' });
    for (let i = 0; i < 80; i += 1) await send(`${kit.kit.gateway.url}/v1/pets`, { key });
    const observed = await kit.open(
      '/console',
      {},
      { colorScheme: 'light', viewport: { width: 1400, height: 1000 } },
    );
    await new Promise((r) => setTimeout(r, 9000));
    for (let i = 0; i < 30; i += 1) {
      await send(`${kit.kit.gateway.url}/v1/pets`, { key });
    }
    await new Promise((r) => setTimeout(r, 3000));
    await observed.page.screenshot({ path: '/tmp/exp/n/light.png', fullPage: true });
    await observed.page.emulateMedia({ colorScheme: 'dark' });
    await new Promise((r) => setTimeout(r, 1500));
    await observed.page.screenshot({ path: '/tmp/exp/n/dark.png', fullPage: true });
    await observed.page.setViewportSize({ width: 360, height: 800 });
    await new Promise((r) => setTimeout(r, 1500));
    await observed.page.screenshot({ path: '/tmp/exp/n/phone.png', fullPage: true });
    expect(observed.complaints).toEqual([]);
  });
});
