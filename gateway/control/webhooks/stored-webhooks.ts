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

/** How an attempt ended: it will be made again if it failed, and not if it is dead. */
export const deliveryOutcomes = ['delivered', 'failed', 'dead'] as const;

export const deliverySchema = z
  .object({
    at: z.iso.datetime().describe('End of the attempt'),
    eventId: z.string(),
    type: z.string(),
    customerId: z.string().nullable(),
    attempt: z.int().describe('1 for the first'),
    outcome: z
      .enum(deliveryOutcomes)
      .describe('`failed`: it will be sent again. `dead`: it was given up after 24 hours'),
    status: z.int().nullable().describe('Of the response; null without one'),
    error: z.string().nullable(),
    ms: z.int(),
  })
  .meta({ id: 'Delivery' });

export type Delivery = z.infer<typeof deliverySchema>;

const maxDeliveries = 50;
const keptSeconds = 30 * 86_400;

/** A webhook that has failed for so long, without a success, is disabled. */
export const disableAfterMs = 86_400_000;
/** After so long without an attempt it is unknown whether the receiver was down in between: the failure begins again. */
const gapMs = 21_600_000;
/** The last attempt of an event may come a little early by the clock of another process. */
const toleranceMs = 60_000;

const statusSchema = z.object({
  failingSince: z.coerce.number().optional(),
  lastFailure: z.coerce.number().optional(),
  disabledAt: z.coerce.number().optional(),
  disabledBecause: z.string().optional(),
});

/** How it goes with a webhook; times in Unix ms. */
export type WebhookStatus = z.infer<typeof statusSchema>;

export async function readWebhookStatus(redis: RedisClient, id: string): Promise<WebhookStatus> {
  return statusSchema.catch({}).parse(await redis.hgetall(redisKeys.webhookStatus(id)));
}

/** Newest first. */
export async function readDeliveries(redis: RedisClient, id: string): Promise<Delivery[]> {
  const lines = await redis.lrange(redisKeys.webhookLog(id), 0, -1);
  return lines.flatMap((line) => deliverySchema.safeParse(parseJson(line)).data ?? []);
}

/** Adds an attempt to the log of the webhook. */
export async function recordDelivery(
  redis: RedisClient,
  { id }: Webhook,
  { id: eventId, type, customerId }: GatewayEvent,
  attempt: Omit<Delivery, 'eventId' | 'type' | 'customerId'>,
): Promise<void> {
  const key = redisKeys.webhookLog(id);
  const delivery: Delivery = { ...attempt, eventId, type, customerId: customerId ?? null };
  await redis.lpush(key, JSON.stringify(delivery));
  await redis.ltrim(key, 0, maxDeliveries - 1);
  await redis.expire(key, keptSeconds);
}

/** A success, or an operator who switches the webhook on, ends that it fails. */
export async function clearFailures(redis: RedisClient, id: string): Promise<void> {
  await redis.del(redisKeys.webhookStatus(id));
}

/** @returns why the webhook is disabled now; undefined if it goes on */
export async function recordFailure(
  redis: RedisClient,
  id: string,
  { nowMs, isGone }: { nowMs: number; isGone: boolean },
): Promise<string | undefined> {
  const { failingSince = nowMs, lastFailure = nowMs } = await readWebhookStatus(redis, id);
  const since = nowMs - lastFailure > gapMs ? nowMs : failingSince;
  const disabledBecause = isGone
    ? 'the receiver responded with status 410 (Gone)'
    : nowMs - since >= disableAfterMs - toleranceMs
      ? 'every attempt has failed for 24 hours'
      : undefined;
  await redis.hset(redisKeys.webhookStatus(id), {
    failingSince: since,
    lastFailure: nowMs,
    ...(disabledBecause === undefined ? {} : { disabledAt: nowMs, disabledBecause }),
  });
  return disabledBecause;
}

/** Number of webhooks that get nothing any more because they have failed. */
export async function countDisabled(redis: RedisClient): Promise<number> {
  const webhooks = (await readWebhooks(redis)).filter(({ enabled }) => enabled);
  const statuses = await Promise.all(webhooks.map(({ id }) => readWebhookStatus(redis, id)));
  return statuses.filter(({ disabledAt }) => disabledAt !== undefined).length;
}
