import { z } from 'zod';
import { deliverySchema } from '../../events/delivery-store.ts';
import { eventTypeNames } from '../../events/event-types.ts';
import { nameInput, timeInput } from '../../operations/key-input.ts';
import { eventTypeSchema, webhookSchema } from '../../operations/webhook-view.ts';
import { changed, listOf } from './results.ts';

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

/** What can be done with webhooks, as the operators' API and the portal describe it. */
export const webhookOperations = {
  types: {
    operationId: 'listEventTypes',
    summary: 'Types of events',
    responds: 'All types',
    result: listOf(eventTypeSchema),
  },
  list: {
    operationId: 'listWebhooks',
    responds: 'All of them',
    result: listOf(webhookSchema),
  },
  add: {
    operationId: 'addWebhook',
    summary: 'Send events to an address',
    input: newWebhook,
    responds: 'The webhook with its secret',
    result: withSecret,
    status: 201,
  },
  change: {
    operationId: 'changeWebhook',
    summary: 'Change a webhook, or switch it on or off',
    description: 'Fields that are absent stay as they are. Switching on also ends that it is disabled.',
    input: newWebhook.partial().extend({ enabled: z.boolean().optional() }),
    responds: 'The webhook after the change',
    result: changedWebhook,
  },
  remove: {
    operationId: 'removeWebhook',
    summary: 'Delete a webhook with its queue and its deliveries',
    responds: 'The webhook as it was',
    result: changedWebhook,
  },
  test: {
    operationId: 'testWebhook',
    summary: 'Send a webhook an event of the type webhook.test',
    responds: 'Id of the event, which is in its deliveries within some seconds',
    result: changed(z.object({ eventId: z.string() })),
  },
  rotateSecret: {
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret of a webhook; the one before signs as well for a time',
    input: z.strictObject({
      overlapSeconds: z.int(overlapRange).min(0, overlapRange).max(maxOverlapSeconds, overlapRange),
    }),
    responds: 'The webhook with its new secret',
    result: withSecret,
  },
  deliveries: {
    operationId: 'listDeliveries',
    summary: 'The last 100 attempts of a webhook, newest first',
    responds: 'Attempts of the last 30 days',
    result: listOf(deliverySchema),
  },
  replay: {
    operationId: 'replayEvents',
    responds: 'How many events are sent again; the use by day does not count',
    result: changed(z.object({ replayed: z.int() })),
  },
} as const;

export const replayInput = z.strictObject({
  since: timeInput.optional().describe('All events since then that are still kept'),
});
