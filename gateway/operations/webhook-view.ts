import { z } from 'zod';
import { disabledAfterMs } from '../events/deliveries.ts';
import { readFailingSince } from '../events/delivery-store.ts';
import { eventTypeNames, eventTypes } from '../events/event-types.ts';
import type { Webhook } from '../events/webhook-record.ts';
import { isCustomerId, redisKeys, type WebhookOwner } from '../redis/redis-keys.ts';
import type { Session } from './session.ts';

export const webhookStates = ['on', 'off', 'failing', 'disabled'] as const;

/** A webhook as people see it: without its secret. */
export const webhookSchema = z
  .object({
    id: z.string(),
    customerId: z
      .string()
      .nullable()
      .describe('Null for a webhook of operators, which gets the events of all customers'),
    url: z.string(),
    types: z
      .array(z.string())
      .nullable()
      .describe('Types of events that it gets; null for all but usage.day'),
    description: z.string().nullable(),
    state: z
      .enum(webhookStates)
      .describe(
        '`failing`: its last request failed. `disabled`: it has failed for three days, and gets nothing',
      ),
    failingSince: z.iso.datetime().nullable(),
    queued: z.int().describe('Events that it has yet to get'),
    dead: z.int().describe('Events that were given up in the last 30 days'),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' });

export type WebhookView = z.infer<typeof webhookSchema>;

export const eventTypeSchema = z.object({
  type: z.string(),
  summary: z.string(),
  forOperators: z.boolean().describe('Whether only webhooks of operators get it'),
});

/** Types of events that webhooks of an owner can get. */
export function listEventTypes(owner: WebhookOwner): z.infer<typeof eventTypeSchema>[] {
  return eventTypeNames
    .map((type) => ({
      type,
      summary: eventTypes[type].summary,
      forOperators: 'forOperators' in eventTypes[type],
    }))
    .filter(({ forOperators }) => owner === 'operators' || !forOperators);
}

export async function webhookView({ redis, now }: Session, webhook: Webhook): Promise<WebhookView> {
  const { id, owner, url, types, description, createdAt, enabled } = webhook;
  const [sinceMs, queued, dead] = await Promise.all([
    readFailingSince(redis, id),
    redis.zcard(redisKeys.eventQueue(id)),
    redis.zcard(redisKeys.deadEvents(id)),
  ]);
  const ofFailing = sinceMs === undefined ? 'on' : now() - sinceMs > disabledAfterMs ? 'disabled' : 'failing';
  return {
    id,
    customerId: isCustomerId(owner) ? owner : null,
    url,
    types,
    description,
    state: enabled ? ofFailing : 'off',
    failingSince: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
    queued,
    dead,
    createdAt,
  };
}
