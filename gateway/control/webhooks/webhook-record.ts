import { z } from 'zod';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { parseJson } from '../../platform/redis/redis-values.ts';
import type { GatewayEvent } from './event-types.ts';

export const webhookIdPattern = /^wh_[\da-f]{16}$/;

const record = z.object({
  id: z.string().regex(webhookIdPattern),
  url: z.string(),
  /** The customer whose events it gets; null for those of all customers. */
  customerId: z.string().nullable(),
  /** Null for all types. */
  types: z.array(z.string()).nullable(),
  enabled: z.boolean(),
  description: z.string().nullable(),
  createdAt: z.iso.datetime(),
  /** Signs its events. */
  secret: z.string(),
});

/** An address that events are sent to, as the hash gw:webhooks has it in JSON, by its id. */
export type Webhook = z.infer<typeof record>;

/** Oldest first. */
export async function readWebhooks(redis: RedisClient): Promise<Webhook[]> {
  return parseWebhooks(await redis.hgetall(redisKeys.webhooks));
}

/** One that was edited by hand into something else is left out. */
export function parseWebhooks(fields: Readonly<Record<string, string>>): Webhook[] {
  const webhooks = Object.entries(fields).flatMap(([id, text]) => {
    const { data } = record.safeParse(parseJson(text));
    return data?.id === id ? [data] : [];
  });
  return webhooks.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt));
}

/** Whether a webhook gets an event: one of its customer and its types, since it was made. */
export function wants({ enabled, customerId, types, createdAt }: Webhook, event: GatewayEvent): boolean {
  return (
    enabled &&
    (customerId === null || customerId === event.customerId) &&
    (types === null || types.includes(event.type)) &&
    event.at >= createdAt
  );
}
