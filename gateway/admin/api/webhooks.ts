import type { Request } from 'express';
import { webhookIdPattern } from '../../events/webhook-record.ts';
import { listEventTypes } from '../../operations/webhook-view.ts';
import {
  addWebhook,
  changeWebhook,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
  replayEvents,
  rotateWebhookSecret,
  testWebhook,
} from '../../operations/webhooks.ts';
import { isCustomerId, type WebhookOwner } from '../../redis/redis-keys.ts';
import { ApiError } from './api-error.ts';
import { withWarnings } from './results.ts';
import { route } from './route.ts';
import { replayInput, webhookOperations } from './webhook-operations.ts';

/** Whose webhooks, and which of them, by the path. @throws ApiError not_found */
function placeOf({ params }: Request): { owner: WebhookOwner; id: string } {
  const { owner, webhook = '' } = params;
  const [ownerText, id] = [String(owner), String(webhook)];
  if (ownerText !== 'operators' && !isCustomerId(ownerText)) {
    throw new ApiError('not_found', { message: 'No customer has such an id; operators have "operators".' });
  }
  if (id !== '' && !webhookIdPattern.test(id)) {
    throw new ApiError('not_found', { message: 'No webhook has such an id.' });
  }
  return { owner: ownerText, id };
}

/** Addresses that events are sent to. */
export const webhooksRoutes = [
  route.get('/event-types', {
    ...webhookOperations.types,
    noun: 'webhooks',
    handle: () => ({ items: listEventTypes('operators'), next: null }),
  }),
  route.get('/webhooks/:owner', {
    ...webhookOperations.list,
    summary: 'Webhooks of a customer or of operators, oldest first',
    handle: async ({ req }, { read }) => ({
      items: await read((session) => listWebhooks(session, placeOf(req).owner)),
      next: null,
    }),
  }),
  route.post('/webhooks/:owner', {
    ...webhookOperations.add,
    handle: async ({ req, input }, { change, webhookRules }) =>
      withWarnings(
        await change(req, (session) => addWebhook(session, placeOf(req).owner, input, webhookRules)),
      ),
  }),
  route.patch('/webhooks/:owner/:webhook', {
    ...webhookOperations.change,
    handle: async ({ req, input }, { change, webhookRules }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, (session) => changeWebhook(session, owner, id, input, webhookRules)),
      );
    },
  }),
  route.delete('/webhooks/:owner/:webhook', {
    ...webhookOperations.remove,
    handle: async ({ req }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(await change(req, (session) => removeWebhook(session, owner, id)));
    },
  }),
  route.post('/webhooks/:owner/:webhook/test', {
    ...webhookOperations.test,
    handle: async ({ req }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, async (session) => ({ eventId: await testWebhook(session, owner, id) })),
      );
    },
  }),
  route.post('/webhooks/:owner/:webhook/rotate-secret', {
    ...webhookOperations.rotateSecret,
    handle: async ({ req, input }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, (session) => rotateWebhookSecret(session, owner, id, input.overlapSeconds * 1000)),
      );
    },
  }),
  route.get('/webhooks/:owner/:webhook/deliveries', {
    ...webhookOperations.deliveries,
    handle: async ({ req }, { read }) => {
      const { owner, id } = placeOf(req);
      return { items: await read((session) => readWebhookDeliveries(session, owner, id)), next: null };
    },
  }),
  route.post('/webhooks/:owner/:webhook/replay', {
    ...webhookOperations.replay,
    summary: 'Send a webhook again what was given up, or everything since a time',
    input: replayInput,
    handle: async ({ req, input }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(await change(req, (session) => replayEvents(session, owner, id, input.since)));
    },
  }),
];
