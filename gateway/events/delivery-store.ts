import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { fieldsOf } from '../redis/hash-reader.ts';
import { parseJson } from '../redis/parse-json.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isCustomerId, redisKeys } from '../redis/redis-keys.ts';
import { deliveryOutcomes, isEventType, type GatewayEvent } from './event-types.ts';

/** An event with its place in the stream. */
export interface StreamedEvent extends GatewayEvent {
  streamId: string;
}

/** An attempt as the log of deliveries has it. */
export const deliverySchema = z
  .object({
    at: z.iso.datetime(),
    eventId: z.string(),
    type: z.string(),
    customerId: z.string().nullable(),
    attempt: z.int().describe('From 1'),
    outcome: z.enum(deliveryOutcomes).describe('`failed` will be tried again, `dead` will not'),
    delivered: z.boolean(),
    status: z.int().nullable().describe('Of the response; null without one'),
    error: z.string().nullable(),
    ms: z.int(),
  })
  .meta({ id: 'Delivery' });

export type DeliveryEntry = z.infer<typeof deliverySchema>;

/** Attempts that are kept of each webhook. */
const maxDeliveries = 100;
/** Time for which they are kept, and what was given up. */
const keptSeconds = 30 * 86_400;

type StreamItem = [id: string, fields: string[]];

/** @returns undefined for one that was added by hand, or by a later version */
export function parseEvent([streamId, list]: StreamItem): StreamedEvent | undefined {
  const { id = '', type = '', customer = '', at = '', data = '', webhook, for: owner } = fieldsOf(list);
  const content = parseJson(data);
  if (!isEventType(type) || typeof content !== 'object' || content === null) return undefined;
  const customerId = isCustomerId(customer) ? customer : undefined;
  return { streamId, id, type, customerId, at, data: content, webhook, forOperators: owner === 'operators' };
}

/** Events after one, oldest first. */
export async function readEventsAfter(
  redis: RedisClient,
  streamId: string,
  count: number,
): Promise<{ events: StreamedEvent[]; last: string | undefined }> {
  const items = await redis.xrange(redisKeys.events, `(${streamId}`, '+', 'COUNT', count);
  return { events: items.flatMap((item) => parseEvent(item) ?? []), last: items.at(-1)?.[0] };
}

export async function readEvent(redis: RedisClient, streamId: string): Promise<StreamedEvent | undefined> {
  const [item] = await redis.xrange(redisKeys.events, streamId, streamId);
  return item && parseEvent(item);
}

/** Events that a webhook has yet to get, in their order, with the failed attempts of each. */
export async function readQueue(
  redis: RedisClient,
  webhookId: string,
): Promise<{ streamId: string; attempts: number }[]> {
  const reply = await redis.zrange(redisKeys.eventQueue(webhookId), '0', '-1', 'WITHSCORES');
  const queue: { streamId: string; attempts: number }[] = [];
  for (let index = 0; index < reply.length; index += 2) {
    queue.push({ streamId: reply[index] ?? '', attempts: Number(reply[index + 1]) });
  }
  return queue.toSorted((one, other) => compareStreamIds(one.streamId, other.streamId));
}

export function compareStreamIds(one: string, other: string): number {
  const [ms = 0, sequence = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherSequence = 0] = other.split('-').map(Number);
  return ms - otherMs || sequence - otherSequence;
}

/** Adds events to the queues of webhooks, and records that the stream was read up to one, in one step. */
export async function enqueue(
  redis: RedisClient,
  targets: readonly { webhookId: string; streamId: string; isFull: boolean }[],
  readUpTo: string,
): Promise<void> {
  const transaction = redis.multi();
  for (const { webhookId, streamId, isFull } of targets) {
    if (isFull) transaction.zadd(redisKeys.deadEvents(webhookId), Date.now(), streamId);
    else transaction.zadd(redisKeys.eventQueue(webhookId), 'NX', 0, streamId);
  }
  await run(transaction.hset(redisKeys.eventState, 'stream', readUpTo));
}

/** Field of the last change of webhooks or of their queues by operators and customers, in the state of events: a random text. */
export const webhookChangeField = 'webhooks';

/** Comes after a change: the leader reads webhooks and their queues again before it hands out further events. */
export async function tellLeader(redis: RedisClient): Promise<void> {
  await redis.hset(redisKeys.eventState, webhookChangeField, randomUUID());
}

/** Whether a webhook has yet to get an event: another leader, or a change of its queue, may have taken it out. */
export async function isQueued(redis: RedisClient, webhookId: string, streamId: string): Promise<boolean> {
  return (await redis.zscore(redisKeys.eventQueue(webhookId), streamId)) !== null;
}

/** Field of the time since which a webhook fails, in the state of events. */
export const failingField = (webhookId: string) => `failing:${webhookId}`;

/** @returns Unix ms; undefined if it does not fail, or the time was edited into something else */
export async function readFailingSince(redis: RedisClient, webhookId: string): Promise<number | undefined> {
  const text = (await redis.hget(redisKeys.eventState, failingField(webhookId))) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Records an attempt, and what becomes of the event, in one step. @param streamId undefined for an event of the feed */
export async function settle(
  redis: RedisClient,
  webhookId: string,
  streamId: string | undefined,
  entry: DeliveryEntry,
  failingSinceMs: number | undefined,
): Promise<void> {
  const log = redisKeys.deliveries(webhookId);
  const [queue, dead] = [redisKeys.eventQueue(webhookId), redisKeys.deadEvents(webhookId)];
  const transaction = redis
    .multi()
    .xadd(log, 'MAXLEN', maxDeliveries, '*', 'entry', JSON.stringify(entry))
    .expire(log, keptSeconds);
  const failing = failingField(webhookId);
  if (failingSinceMs === undefined) transaction.hdel(redisKeys.eventState, failing);
  else transaction.hset(redisKeys.eventState, failing, failingSinceMs);
  if (streamId !== undefined) {
    switch (entry.outcome) {
      case 'failed':
        // A queue that nobody reads any more goes with its events.
        transaction.zadd(queue, entry.attempt, streamId).expire(queue, keptSeconds);
        break;
      case 'dead':
        transaction
          .zrem(queue, streamId)
          .zadd(dead, Date.parse(entry.at), streamId)
          .expire(dead, keptSeconds);
        transaction.zremrangebyscore(dead, '-inf', Date.parse(entry.at) - keptSeconds * 1000);
        break;
      case 'delivered':
        transaction.zrem(queue, streamId);
    }
  }
  await run(transaction);
}

/** The newest attempts of a webhook, newest first. */
export async function readDeliveries(redis: RedisClient, webhookId: string): Promise<DeliveryEntry[]> {
  const items = await redis.xrevrange(redisKeys.deliveries(webhookId), '+', '-', 'COUNT', maxDeliveries);
  return items.flatMap(([, list]) => {
    const { data } = deliverySchema.safeParse(parseJson(fieldsOf(list)['entry'] ?? ''));
    return data ?? [];
  });
}

/** @throws the first error of a command */
async function run(transaction: ReturnType<RedisClient['multi']>): Promise<void> {
  const replies = await transaction.exec();
  for (const [error] of replies ?? []) if (error !== null) throw error;
}
