import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { expectAccessible } from '../support/checks/console-page.ts';
import { send } from '../support/http/http.ts';
import { startConsole, type ConsoleApi, type ConsoleKit } from '../support/kits/console-kit.ts';
import { startLoad } from '../support/load/steady-load.ts';

describe('the page of addresses', { tags: ['chromium'], timeout: 120_000 }, () => {
  let started: ConsoleKit;
  let ada: ConsoleApi;

  beforeAll(async () => {
    started = await startConsole({ TRUST_PROXY: 'loopback' });
    ada = await started.signIn();
  });

  afterAll(() => started[Symbol.asyncDispose]());

  const statusFrom = async (address: string) =>
    (await send(`${started.kit.gateway.url}/v1/pets`, { headers: { 'x-forwarded-for': address } })).status;
  const lastEntry = async () => (await readAudit(started.kit.redis, 1, { action: 'addresses' }))[0];

  test('without refusals and blocks it says so', async () => {
    const { page } = await started.open('/console/addresses');
    await page.getByText('No address was refused in the last minute').waitFor();
    await page.getByText('No address is blocked.').waitFor();
    await expectAccessible(page, 'addresses-none');
  });

  test('a flood is a problem on the first page, which leads to the address, and is over when it is blocked', async () => {
    await using _flood = startLoad(4, () => statusFrom('203.0.113.7').catch(() => undefined), 40);
    const { page } = await started.open('/console', { name: 'Grace' });
    const problem = page.getByLabel('Problems');
    await problem.getByText('Many requests without a valid key are refused').waitFor();
    await problem.getByText(/Most come from 203\.0\.113\.7/).waitFor();
    await expectAccessible(page, 'now-flood');
    await problem.getByRole('link', { name: 'Addresses' }).click();
    await page.getByRole('button', { name: 'Block 203.0.113.7' }).click();
    const asked = page.locator('wa-dialog[label="Block an address or network"]');
    const field = asked.getByRole('textbox', { name: 'Address or network' });
    await expect.poll(() => field.inputValue()).toBe('203.0.113.7');
    await expectAccessible(page, 'addresses-block');
    await field.fill('203.0.113.7/24');
    await asked.getByLabel('Reason').fill('credential stuffing');
    await asked.getByRole('button', { name: 'Block' }).click();
    await asked.getByText('did you mean 203.0.113.0/24').waitFor();
    await field.fill('203.0.113.0/24');
    await asked.getByRole('button', { name: 'Block' }).click();
    await expect.poll(() => statusFrom('203.0.113.200')).toBe(429);
    expect(await lastEntry()).toMatchObject({
      who: 'Grace',
      action: 'addresses.block',
      target: '203.0.113.0/24',
    });
    const blocks = page.getByRole('region', { name: 'Blocked addresses' });
    await blocks.getByText('credential stuffing').waitFor();
    await expectAccessible(page, 'addresses');
    await page.getByRole('link', { name: 'Now', exact: true }).click();
    await problem.getByText('Many requests without a valid key are refused').waitFor({ state: 'detached' });
    await page
      .getByText(/blocked address/)
      .first()
      .waitFor();
  });

  test('a block is ended, audited under the name of the person', async () => {
    await ada.send('POST', '/api/addresses/block', {
      network: '198.51.100.9',
      seconds: 600,
      reason: 'mistaken',
    });
    await expect.poll(() => statusFrom('198.51.100.9')).toBe(429);
    const { page } = await started.open('/console/addresses', { name: 'Grace' });
    await page.getByRole('button', { name: 'Unblock 198.51.100.9' }).click();
    const asked = page.locator('wa-dialog[label="Unblock 198.51.100.9?"]');
    await asked.getByText('mistaken').waitFor();
    await asked.getByRole('button', { name: 'Unblock' }).click();
    await expect.poll(() => statusFrom('198.51.100.9')).toBe(401);
    expect(await lastEntry()).toMatchObject({
      who: 'Grace',
      action: 'addresses.unblock',
      target: '198.51.100.9',
    });
    await page.goto(`${started.origin}/console/audit`);
    await page.getByRole('link', { name: '198.51.100.9' }).first().waitFor();
  });

  test('an invalid block in Redis is shown here and on the first page, which leads here', async () => {
    await started.kit.redis.hset(redisKeys.addressBlocks, '198.51.100.10', 'for ever');
    const { page } = await started.open('/console');
    await page.getByText('The setting gw:blocked-addresses in Redis is invalid').waitFor();
    await page.getByText(/198\.51\.100\.10 needs an end .*; it is "for ever"/).waitFor();
    await page.goto(`${started.origin}/console/addresses`);
    await page.getByText(/198\.51\.100\.10 needs an end in ISO 8601 and a reason/).waitFor();
    await ada.send('POST', '/api/addresses/unblock', { network: '198.51.100.10' });
  });

  test('a viewer is offered no change, and is refused one', async () => {
    await ada.send('POST', '/api/addresses/block', {
      network: '198.51.100.11',
      seconds: 600,
      reason: 'viewed',
    });
    const { page } = await started.open('/console/addresses', { role: 'viewer' });
    await page.getByText('viewed').waitFor();
    expect(await page.getByRole('button', { name: /^(?:Block|Unblock)/ }).count()).toBe(0);
    await expectAccessible(page, 'addresses-viewer');
    const viewer = await started.signIn({ role: 'viewer' });
    const block = { network: '198.51.100.12', seconds: 60, reason: 'x' };
    expect((await viewer.send('POST', '/api/addresses/block', block)).status).toBe(403);
    expect((await viewer.send('POST', '/api/addresses/unblock', { network: '198.51.100.11' })).status).toBe(
      403,
    );
  });

  test.each([
    [{ network: '203.0.113.5/24', seconds: 60, reason: 'x' }, 'did you mean 203.0.113.0/24', 422],
    [{ network: '198.51.100.12', seconds: 0, reason: 'x' }, 'whole number of seconds'],
    [{ network: '198.51.100.12', seconds: 60, reason: '' }, 'reason'],
    [{ network: '198.51.100.12', seconds: 60 }, 'reason'],
    [{ network: 7, seconds: 60, reason: 'x' }, 'network'],
    [{ network: '198.51.100.12', seconds: 60, reason: 'x', more: 1 }, 'more'],
  ])('the API refuses %j', async (body, message, expected = 400) => {
    const before = await started.kit.redis.hkeys(redisKeys.addressBlocks);
    const { status, body: error } = await ada.send('POST', '/api/addresses/block', body);
    expect(status).toBe(expected);
    expect(JSON.stringify(error)).toContain(message);
    expect(await started.kit.redis.hkeys(redisKeys.addressBlocks)).toEqual(before);
  });
});
