import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { dayMs } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { eventQueue } from '../../platform/redis/redis-keys.ts';
import { eventId, testType, type GatewayEvent } from './event-types.ts';
import { readWebhooks, wants, type Webhook } from './stored-webhooks.ts';

/** What workers of the queue do. */
export type EventJob =
  | { kind: 'deliver'; webhookId: string; event: GatewayEvent; isTest?: true }
  /** Looks at a key when 7 days of its life are left. */
  | { kind: 'expiring'; keyId: string; expiresAt: string };

/** Nothing of an owner's client is closed with it, so it lives as long as its client. */
const queues = new WeakMap<RedisClient, Queue<EventJob>>();

/** Loaded when there is a job to add: it takes half a second, which few commands need. */
async function queueOf(redis: RedisClient): Promise<Queue<EventJob>> {
  const known = queues.get(redis);
  if (known !== undefined) return known;
  const { Queue } = await import('bullmq');
  const queue = new Queue<EventJob>(eventQueue.name, {
    ...queueOptions,
    connection: redis,
    skipMetasUpdate: true,
  });
  // The client logs its own failures, and each command rejects.
  queue.on('error', () => {});
  queues.set(redis, queue);
  return queue;
}

export const queueOptions = { prefix: eventQueue.prefix, skipVersionCheck: true } as const;

/** The worker decides when to stop (deliver-events.ts). */
const untilDecided = {
  attempts: 1000,
  backoff: { type: 'custom' },
  removeOnComplete: true,
  removeOnFail: true,
};

/** After this time an event with the same id would be sent again. */
const repeatMs = dayMs;

/**
 * Adds a delivery to each webhook that wants the event, unless it was added before.
 * @param keptMs time for which the event can be published again
 */
export async function publishEvent(redis: RedisClient, event: GatewayEvent, keptMs = repeatMs) {
  const webhooks = (await readWebhooks(redis)).filter((webhook) => wants(webhook, event));
  if (webhooks.length === 0) return;
  const queue = await queueOf(redis);
  await queue.addBulk(
    webhooks.map(({ id: webhookId }) => ({
      name: event.type,
      data: { kind: 'deliver', webhookId, event },
      opts: { ...untilDecided, deduplication: { id: `${event.id}-${webhookId}`, ttl: Math.ceil(keptMs) } },
    })),
  );
}

/** Sends one event to a webhook, once. @returns its id */
export async function publishTest(redis: RedisClient, { id: webhookId }: Webhook, nowMs: number) {
  const event: GatewayEvent = {
    id: eventId(testType, webhookId, randomUUID()),
    type: testType,
    customerId: undefined,
    at: new Date(nowMs).toISOString(),
    data: { webhookId },
  };
  const queue = await queueOf(redis);
  // Before what waits for the same and other receivers.
  await queue.add(
    testType,
    { kind: 'deliver', webhookId, event, isTest: true },
    { lifo: true, removeOnComplete: true, removeOnFail: true },
  );
  return event.id;
}

export const expiringMs = 7 * dayMs;

/** Lets a worker look at keys when they are about to expire. A key whose expiry has changed since is left alone then. */
export async function scheduleExpiry(
  redis: RedisClient,
  keys: readonly { keyId: string; expiresAt: string }[],
  nowMs: number,
): Promise<void> {
  const ahead = keys.filter(({ expiresAt }) => Date.parse(expiresAt) > nowMs);
  if (ahead.length === 0) return;
  const queue = await queueOf(redis);
  await queue.addBulk(
    ahead.map(({ keyId, expiresAt }) => ({
      name: 'key.expiring',
      data: { kind: 'expiring', keyId, expiresAt },
      opts: {
        ...untilDecided,
        jobId: eventId('key.expiring', keyId, expiresAt),
        delay: Math.max(0, Date.parse(expiresAt) - nowMs - expiringMs),
      },
    })),
  );
}
