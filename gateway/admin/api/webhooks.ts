import type { Request } from 'express';
import { z } from 'zod';
import { deliverySchema } from '../../events/delivery-store.ts';
import { eventTypeNames, eventTypes } from '../../events/event-types.ts';
import { webhookIdPattern } from '../../events/webhook-record.ts';
import { nameInput, timeInput } from '../../operations/key-input.ts';
import { webhookSchema } from '../../operations/webhook-view.ts';
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
import { changed, listOf, withWarnings } from './results.ts';
import { route } from './route.ts';

const url = z.string('has to be a URL').max(1000, 'is longer than 1,000 characters');
const types = z
  .array(z.enum(eventTypeNames, `has to be a list of ${eventTypeNames.join(', ')}`))
  .min(1, 'is empty: give null for all types')
  .nullable()
  .describe('Null for all types but usage.day, which has to be named');
const description = nameInput.nullable();

const newWebhook = z.strictObject({
  url,
  types: types.optional(),
  description: description.optional(),
});

const withSecret = changed(
  webhookSchema.extend({ secret: z.string().describe('Signs its events; shown this once') }),
).meta({ id: 'WebhookWithSecret' });
const changedWebhook = changed(webhookSchema).meta({ id: 'ChangedWebhook' });

const maxOverlapSeconds = 30 * 86_400;
const overlapRange = `has to be a whole number of seconds from 0 to ${maxOverlapSeconds}`;

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
    operationId: 'listEventTypes',
    noun: 'webhooks',
    summary: 'Types of events',
    responds: 'All types',
    result: listOf(
      z.object({
        type: z.string(),
        summary: z.string(),
        forOperators: z.boolean().describe('Whether only webhooks of operators get it'),
      }),
    ),
    handle: () => ({
      items: eventTypeNames.map((type) => ({
        type,
        summary: eventTypes[type].summary,
        forOperators: 'forOperators' in eventTypes[type],
      })),
      next: null,
    }),
  }),
  route.get('/webhooks/:owner', {
    operationId: 'listWebhooks',
    summary: 'Webhooks of a customer or of operators, oldest first',
    responds: 'All of them',
    result: listOf(webhookSchema),
    handle: async ({ req }, { read }) => ({
      items: await read((session) => listWebhooks(session, placeOf(req).owner)),
      next: null,
    }),
  }),
  route.post('/webhooks/:owner', {
    operationId: 'addWebhook',
    summary: 'Send events to an address',
    input: newWebhook,
    responds: 'The webhook with its secret',
    result: withSecret,
    status: 201,
    handle: async ({ req, input }, { change, webhookRules }) =>
      withWarnings(
        await change(req, (session) => addWebhook(session, placeOf(req).owner, input, webhookRules)),
      ),
  }),
  route.patch('/webhooks/:owner/:webhook', {
    operationId: 'changeWebhook',
    summary: 'Change a webhook, or switch it on or off',
    description: 'Fields that are absent stay as they are. Switching on also ends that it is disabled.',
    input: newWebhook.partial().extend({ enabled: z.boolean().optional() }),
    responds: 'The webhook after the change',
    result: changedWebhook,
    handle: async ({ req, input }, { change, webhookRules }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, (session) => changeWebhook(session, owner, id, input, webhookRules)),
      );
    },
  }),
  route.delete('/webhooks/:owner/:webhook', {
    operationId: 'removeWebhook',
    summary: 'Delete a webhook with its queue and its deliveries',
    responds: 'The webhook as it was',
    result: changedWebhook,
    handle: async ({ req }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(await change(req, (session) => removeWebhook(session, owner, id)));
    },
  }),
  route.post('/webhooks/:owner/:webhook/test', {
    operationId: 'testWebhook',
    summary: 'Send a webhook an event of the type webhook.test',
    responds: 'Id of the event, which is in its deliveries within some seconds',
    result: changed(z.object({ eventId: z.string() })),
    handle: async ({ req }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, async (session) => ({ eventId: await testWebhook(session, owner, id) })),
      );
    },
  }),
  route.post('/webhooks/:owner/:webhook/rotate-secret', {
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook; the one before signs as well for a time',
    input: z.strictObject({
      overlapSeconds: z.int(overlapRange).min(0, overlapRange).max(maxOverlapSeconds, overlapRange),
    }),
    responds: 'The webhook with its new secret',
    result: withSecret,
    handle: async ({ req, input }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(
        await change(req, (session) => rotateWebhookSecret(session, owner, id, input.overlapSeconds * 1000)),
      );
    },
  }),
  route.get('/webhooks/:owner/:webhook/deliveries', {
    operationId: 'listDeliveries',
    summary: 'The last 100 attempts of a webhook, newest first',
    responds: 'Attempts of the last 30 days',
    result: listOf(deliverySchema),
    handle: async ({ req }, { read }) => {
      const { owner, id } = placeOf(req);
      return { items: await read((session) => readWebhookDeliveries(session, owner, id)), next: null };
    },
  }),
  route.post('/webhooks/:owner/:webhook/replay', {
    operationId: 'replayEvents',
    summary: 'Send a webhook again what was given up, or everything since a time',
    input: z.strictObject({
      since: timeInput.optional().describe('All events since then that are still kept'),
    }),
    responds: 'How many events are sent again; the use by day does not count',
    result: changed(z.object({ replayed: z.int() })),
    handle: async ({ req, input }, { change }) => {
      const { owner, id } = placeOf(req);
      return withWarnings(await change(req, (session) => replayEvents(session, owner, id, input.since)));
    },
  }),
];
