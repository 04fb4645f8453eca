import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addWebhook, readWebhookDeliveries, testWebhook } from '../../gateway/operations/webhooks.ts';
import type { WebhookOwner } from '../../gateway/redis/redis-keys.ts';
import { localRules, startEventsKit, type EventsKit } from '../support/kits/events-kit.ts';
import { idOf } from '../support/webhooks/receiver.ts';

describe('a network of operators', () => {
  const rules = { ...localRules, customerNetworks: ['192.0.2.0/24'] };
  let kit: EventsKit;
  beforeAll(async () => {
    kit = await startEventsKit({ WEBHOOK_CUSTOMER_NETWORKS: '192.0.2.0/24' });
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  test('may be the address of a webhook of operators, and not of one of a customer', async () => {
    const { customerId } = await kit.issue();
    const add = (owner: WebhookOwner, url: string) => addWebhook(kit.session, owner, { url }, rules);
    await expect(add(customerId, kit.receiver.url)).rejects.toThrow('WEBHOOK_CUSTOMER_NETWORKS');
    await add('operators', kit.receiver.url);
    await expect(add('operators', 'http://192.0.2.1/')).rejects.toThrow('WEBHOOK_ALLOWED_NETWORKS');
    await add(customerId, 'http://192.0.2.1/');
  });

  test('is not reached by a webhook of a customer, by no connection of operators and by no name', async () => {
    const { customerId } = await kit.issue();
    const named = `${kit.receiver.url.replace('127.0.0.1', 'localhost')}/shared`;
    const add = (owner: WebhookOwner, url: string) =>
      addWebhook(kit.session, owner, { url, types: ['ban.began'] }, localRules);
    const ofOperators = await add('operators', named);
    const eventId = await testWebhook(kit.session, 'operators', ofOperators.id);
    await expect.poll(() => kit.receiver.at('/shared').map(idOf)).toEqual([eventId]);
    for (const url of [named, `${kit.receiver.url}/shared`]) {
      const { id } = await add(customerId, url);
      await testWebhook(kit.session, customerId, id);
      await expect
        .poll(() => readWebhookDeliveries(kit.session, customerId, id))
        .toMatchObject([
          { outcome: 'failed', status: null, error: expect.stringContaining('is not public') as string },
        ]);
    }
    expect(kit.receiver.at('/shared')).toHaveLength(1);
  });
});
