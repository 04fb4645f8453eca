import { describe, expect, test } from 'vitest';
import { expectAccessible } from '../support/checks/console-page.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { webhookSettings } from '../support/kits/events-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { isSignedBy, startReceiver, type Received } from '../support/webhooks/receiver.ts';

describe('the page of webhooks', { tags: ['chromium'], timeout: 120_000 }, () => {
  const receiver = shared(startReceiver);
  const started = shared(() => startConsole(webhookSettings));

  test('adds a webhook, shows its secret once, tests it and shows what was sent, and removes it', async () => {
    const { page } = await started.open('/console/webhooks');
    await page.getByText('There are no webhooks').waitFor();
    await expectAccessible(page, 'webhooks-none');
    await page.getByRole('button', { name: 'New webhook…' }).click();
    const asked = page.getByRole('dialog', { name: 'New webhook' });
    await asked.getByLabel('Address').fill(`${receiver.url}/hook`);
    await asked.getByLabel('quota.threshold').check();
    await expectAccessible(page, 'webhooks-add');
    await asked.getByRole('button', { name: 'Add' }).click();
    const secret = await page.getByRole('textbox', { name: 'Secret' }).inputValue();
    await expectAccessible(page, 'webhooks-secret');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const choose = async (text: string) => {
      await page.getByRole('button', { name: /^Actions of / }).click();
      await page.getByRole('button', { name: text }).click();
    };
    await choose('Send a test');
    await expect.poll(() => receiver.at('/hook').length).toBe(1);
    expect(isSignedBy(secret, receiver.at('/hook')[0] as Received)).toBe(true);
    const deliveries = page.getByRole('region', { name: 'Deliveries' });
    await deliveries.getByText('webhook.test').waitFor();
    await deliveries.getByText('delivered: status 200').waitFor();
    await expectAccessible(page, 'webhooks');
    expect(await page.content()).not.toContain(secret);
    await choose('Switch off');
    await page.getByRole('cell', { name: 'Off', exact: true }).waitFor();
    await choose('Switch on');
    await page.getByRole('cell', { name: 'On', exact: true }).waitFor();
    await choose('Remove…');
    await page.getByRole('button', { name: 'Remove the webhook' }).click();
    await page.getByText('There are no webhooks').waitFor();
  });
});
