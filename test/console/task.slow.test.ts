import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { expectClean } from '../support/kits/browser.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

/** Counts what a hand on a mouse would press, beside what it types. */
const countClicks = `
  window.pressed = 0;
  addEventListener('pointerdown', () => { window.pressed += 1; }, { capture: true });
`;

describe('an operator on call', { tags: ['chromium'] }, () => {
  const console = shared(startConsole);

  test('finds the customer of a pasted key, sees why it is refused, and raises its limit, in at most five clicks', async () => {
    const { kit } = console;
    const { key } = await kit.issue({ name: 'Acme', plan: 'free' });
    const get = () => send(`${kit.gateway.url}/v1/pets`, { key });
    const statuses: number[] = [];
    for (let request = 0; request <= 60; request += 1) statuses.push((await get()).status);
    expect(statuses.slice(0, 60).every((status) => status === 200)).toBe(true);
    expect(statuses.at(-1)).toBe(429);

    const observed = await console.open('/console');
    const { page } = observed;
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.evaluate(countClicks);
    await page.getByRole('button', { name: 'Search' }).click();
    await page.keyboard.insertText(`curl -H 'Authorization: Bearer ${key}'`);
    await page.getByRole('heading', { name: 'Acme' }).waitFor();
    await page.getByText(/The next request is refused until .+: 60 of 60 used this minute/).waitFor();
    await page.getByRole('link', { name: 'its customer' }).click();
    await page.getByRole('button', { name: 'Change limits…' }).click();
    await page.getByLabel('Own limit a minute').click();
    await page.keyboard.insertText('600');
    await page.getByText(/from the next request on/i).waitFor();
    await page.getByRole('button', { name: 'Save limits' }).click();
    await expect.poll(async () => (await get()).status).toBe(200);
    expect(await page.evaluate('window.pressed')).toBeLessThanOrEqual(5);
    await page.getByText('The next request is served').waitFor();

    expect((await get()).headers['x-ratelimit-limit']).toBe('600');
    const [last] = await kit.redis.xrevrange('gw:audit', '+', '-', 'COUNT', 1);
    expect(last?.[1]).toEqual(expect.arrayContaining(['Ada', 'customers.set']));
    expect(page.url()).not.toContain(key);
    expectClean(observed, console.origin);
  });
});
