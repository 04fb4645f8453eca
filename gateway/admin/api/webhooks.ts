import type { Request } from 'express';
import { webhookIdPattern } from '../../events/webhook-record.ts';
import type { Session } from '../../operations/session.ts';
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
import { route, type Api } from './route.ts';
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

async function change<Result extends object>(
  req: Request,
  api: Api,
  operate: (session: Session, owner: WebhookOwner, id: string) => Promise<Result>,
) {
  const { owner, id } = placeOf(req);
  return withWarnings(await api.change(req, (session) => operate(session, owner, id)));
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
    handle: ({ req, input }, api) =>
      change(req, api, (session, owner) => addWebhook(session, owner, input, api.webhookRules)),
  }),
  route.patch('/webhooks/:owner/:webhook', {
    ...webhookOperations.change,
    handle: ({ req, input }, api) =>
      change(req, api, (session, owner, id) => changeWebhook(session, owner, id, input, api.webhookRules)),
  }),
  route.delete('/webhooks/:owner/:webhook', {
    ...webhookOperations.remove,
    handle: ({ req }, api) => change(req, api, removeWebhook),
  }),
  route.post('/webhooks/:owner/:webhook/test', {
    ...webhookOperations.test,
    handle: ({ req }, api) =>
      change(req, api, async (...webhook) => ({ eventId: await testWebhook(...webhook) })),
  }),
  route.post('/webhooks/:owner/:webhook/rotate-secret', {
    ...webhookOperations.rotateSecret,
    handle: ({ req, input }, api) =>
      change(req, api, (...webhook) => rotateWebhookSecret(...webhook, input.overlapSeconds * 1000)),
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
    handle: ({ req, input }, api) => change(req, api, (...webhook) => replayEvents(...webhook, input.since)),
  }),
];
