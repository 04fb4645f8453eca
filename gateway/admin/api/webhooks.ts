import { z } from 'zod';
import { eventTypeNames } from '../../events/event-types.ts';
import { webhookIdPattern } from '../../events/webhook-record.ts';
import { deliverySchema } from '../../events/webhook-status.ts';
import { nameInput } from '../../operations/key-input.ts';
import {
  addWebhook,
  changeWebhook,
  eventTypeSchema,
  findWebhook,
  listEventTypes,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
  scopesOfEvents,
  testWebhook,
  webhookSchema,
} from '../../operations/webhooks.ts';
import { callerOf } from '../access/caller.ts';
import { assertScopes } from '../access/require-permission.ts';
import { ApiError } from './api-error.ts';
import { changed, listOf, withWarnings } from './results.ts';
import { route } from './route.ts';

const newWebhook = z.strictObject({
  url: z.string('has to be a URL').max(1000, 'is longer than 1,000 characters'),
  types: z
    .array(z.enum(eventTypeNames, `has to be a list of ${eventTypeNames.join(', ')}`))
    .min(1, 'is empty: give null for all types')
    .nullable()
    .describe('Null for all types')
    .optional(),
  description: nameInput.nullable().optional(),
  customerId: z
    .string()
    .nullable()
    .describe('Customer whose events it gets; null for all customers')
    .optional(),
});
const changedWebhook = changed(webhookSchema).meta({ id: 'ChangedWebhook' });

const needsReading = 'A token needs the scopes to read what the webhook is sent, too.';

/** @throws ApiError not_found */
function webhookId(text: string): string {
  if (webhookIdPattern.test(text)) return text;
  throw new ApiError('not_found', { message: 'No webhook has such an id.' });
}

/** Addresses that events are sent to. */
export const webhooksRoutes = [
  route.get('/event-types', {
    operationId: 'listEventTypes',
    noun: 'webhooks',
    summary: 'Types of events',
    responds: 'All types',
    result: listOf(eventTypeSchema),
    handle: () => ({ items: listEventTypes(), next: null }),
  }),
  route.get('/webhooks', {
    operationId: 'listWebhooks',
    summary: 'Webhooks, oldest first',
    responds: 'All of them',
    result: listOf(webhookSchema),
    handle: async (_request, { read }) => ({ items: await read(listWebhooks), next: null }),
  }),
  route.post('/webhooks', {
    operationId: 'addWebhook',
    summary: 'Send events to an address',
    description: needsReading,
    input: newWebhook,
    responds: 'The webhook with its secret',
    result: changed(
      webhookSchema.extend({ secret: z.string().describe('Signs its events; shown this once') }),
    ).meta({ id: 'WebhookWithSecret' }),
    status: 201,
    handle: async ({ req, input }, { change, webhookNetworks }) => {
      assertScopes(callerOf(req), scopesOfEvents(input.types ?? null));
      return withWarnings(await change(req, (session) => addWebhook(session, input, webhookNetworks)));
    },
  }),
  route.patch('/webhooks/:id', {
    operationId: 'changeWebhook',
    summary: 'Change a webhook, or switch it on or off',
    description:
      'Fields that are absent stay as they are. Switching on also ends that it is disabled. ' + needsReading,
    input: newWebhook.omit({ customerId: true }).partial().extend({ enabled: z.boolean().optional() }),
    responds: 'The webhook after the change',
    result: changedWebhook,
    handle: async ({ req, target, input }, { change, webhookNetworks }) => {
      const id = webhookId(target);
      return withWarnings(
        await change(req, async (session) => {
          const before = await findWebhook(session, id);
          assertScopes(callerOf(req), scopesOfEvents(input.types === undefined ? before.types : input.types));
          return changeWebhook(session, id, input, webhookNetworks);
        }),
      );
    },
  }),
  route.delete('/webhooks/:id', {
    operationId: 'removeWebhook',
    summary: 'Delete a webhook with its deliveries',
    responds: 'The webhook as it was',
    result: changedWebhook,
    handle: async ({ req, target }, { change }) => {
      const id = webhookId(target);
      return withWarnings(await change(req, (session) => removeWebhook(session, id)));
    },
  }),
  route.post('/webhooks/:id/test', {
    operationId: 'testWebhook',
    summary: 'Send a webhook an event of the type webhook.test, once',
    responds: 'Id of the event, which is in its deliveries within some seconds',
    result: changed(z.object({ eventId: z.string() })),
    handle: async ({ req, target }, { change }) => {
      const id = webhookId(target);
      return withWarnings(
        await change(req, async (session) => ({ eventId: await testWebhook(session, id) })),
      );
    },
  }),
  route.get('/webhooks/:id/deliveries', {
    operationId: 'listDeliveries',
    summary: 'The last 50 attempts of a webhook, newest first',
    responds: 'Attempts of the last 30 days',
    result: listOf(deliverySchema),
    handle: async ({ target }, { read }) => {
      const id = webhookId(target);
      return { items: await read((session) => readWebhookDeliveries(session, id)), next: null };
    },
  }),
];
