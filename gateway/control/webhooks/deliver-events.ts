import { createLogThrottle } from '#runtime/log-throttle.ts';
import { UnrecoverableError, Worker, type Job } from 'bullmq';
import type { Logger } from 'pino';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { createRedis, type RedisClient } from '../../platform/redis/redis-client.ts';
import { isRedisConnectionLost } from '../../platform/redis/redis-errors.ts';
import { eventQueue } from '../../platform/redis/redis-keys.ts';
import { findStoredKey } from '../keys/stored-keys.ts';
import { publishEvent, queueOptions, type EventJob } from './event-queue.ts';
import { gatewayEvent } from './event-types.ts';
import { createWebhookSender, type WebhookSender } from './send-webhook.ts';
import {
  clearFailures,
  countDisabled,
  deliveryOutcomes,
  readWebhooks,
  readWebhookStatus,
  recordDelivery,
  recordFailure,
  wants,
} from './stored-webhooks.ts';

interface EventsDependencies {
  redisUrl: string;
  webhookAllowedNetworks: readonly string[];
  metrics: Metrics;
  log: Logger;
  now: () => number;
}

/** Attempts at once in a process. */
const concurrency = 64;
/** A job that was not carried out since Redis failed. */
const retryMs = 10_000;
const disabledMs = 10_000;
/** An attempt that takes longer at the end is made again by another gateway, or by the next one. */
const closeMs = 2000;

/** Delivers events together with all other gateways, by connections to Redis of its own: requests do not wait behind it. */
export function startEvents({ redisUrl, webhookAllowedNetworks, metrics, log, now }: EventsDependencies) {
  const redis = createRedis(redisUrl, log, { isBlocking: true });
  for (const outcome of deliveryOutcomes) metrics.deliveries.inc({ outcome }, 0);
  const sender = createWebhookSender({ allowedNetworks: webhookAllowedNetworks, now });
  const isLogDue = createLogThrottle();
  const worker = new Worker<EventJob>(
    eventQueue.name,
    (job) =>
      job.data.kind === 'deliver'
        ? deliver({ redis, sender, metrics, log, now }, job, job.data)
        : expire(redis, job.data, now()),
    {
      ...queueOptions,
      connection: redis,
      concurrency,
      // A job whose process was killed is done again, however often that happens.
      maxStalledCount: 1000,
      settings: {
        backoffStrategy: (_attempts, _type, error) =>
          error instanceof DeliveryFailed ? error.delayMs : retryMs,
      },
    },
  );
  worker.on('error', (error) => {
    // Of a lost connection the log has the reason.
    if (!isRedisConnectionLost(error) && isLogDue('worker'))
      log.warn({ err: error }, 'events cannot be delivered at the moment; retrying');
  });

  const timer = setInterval(() => {
    if (redis.status !== 'ready') return;
    countDisabled(redis)
      .then((count) => metrics.disabledWebhooks.set(count))
      .catch(() => {});
  }, disabledMs);

  return {
    async close() {
      clearInterval(timer);
      // Without Redis it never ends, nor would a second call: that one waits for the first.
      const closed = worker.close().catch(() => {});
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
      await sender.close();
      redis.disconnect();
    },
  };
}

/** A key was replaced, has ended or has another expiry since this was scheduled: then nobody has to be told. */
async function expire(
  redis: RedisClient,
  { keyId, expiresAt }: Extract<EventJob, { kind: 'expiring' }>,
  nowMs: number,
): Promise<void> {
  const { record } = (await findStoredKey(redis, keyId)) ?? {};
  if (record?.expiresAt !== expiresAt || record.revokedAt || record.replacedBy) return;
  if (Date.parse(expiresAt) <= nowMs) return;
  const { customerId, name } = record;
  const data = { customerId, keyId, keyName: name, expiresAt };
  const identity = [keyId, expiresAt];
  await publishEvent(redis, gatewayEvent({ type: 'key.expiring', customerId, atMs: nowMs, data, identity }));
}

const firstDelayMs = 5000;
/** A receiver that works again has to wait for no longer. */
const maxDelayMs = 7_200_000;
/** From the first attempt on. */
const giveUpMs = 86_400_000;

/** A failed attempt that is made again after a time. */
class DeliveryFailed extends Error {
  override name = 'DeliveryFailed';
  readonly delayMs: number;

  constructor(message: string, delayMs: number) {
    super(message);
    this.delayMs = delayMs;
  }
}

interface DeliverDependencies extends Pick<EventsDependencies, 'metrics' | 'log' | 'now'> {
  redis: RedisClient;
  sender: WebhookSender;
}

/** Makes one attempt of a job, and says by an error whether and when the next one is made. */
async function deliver(
  { redis, sender, metrics, log, now }: DeliverDependencies,
  job: Job,
  { webhookId, event, isTest }: Extract<EventJob, { kind: 'deliver' }>,
): Promise<void> {
  const webhook = (await readWebhooks(redis)).find(({ id }) => id === webhookId);
  if (webhook === undefined) return;
  const status = isTest ? {} : await readWebhookStatus(redis, webhookId);
  // What happens while it is off it does not get. Its types may have changed since, with what its owner may read.
  if (!isTest && (!wants(webhook, event) || status.disabledAt !== undefined)) return;
  const leftMs = job.timestamp + giveUpMs - now();
  const { delivered, status: code, error, retryAfterMs, ms } = await sender.send(webhook, event);
  const isGone = code === 410;
  const isDead = !delivered && (isTest === true || isGone || leftMs <= 0);
  const outcome = delivered ? 'delivered' : isDead ? 'dead' : 'failed';
  metrics.deliveries.inc({ outcome });
  await recordDelivery(redis, webhook, event, {
    at: new Date(now()).toISOString(),
    attempt: job.attemptsMade + 1,
    outcome,
    status: code,
    error,
    ms,
  });
  if (isTest) return;
  if (delivered) {
    if (status.failingSince !== undefined) await clearFailures(redis, webhookId);
    return;
  }
  const delayMs = retryDelayMs(job.attemptsMade, { retryAfterMs, leftMs });
  const because = await recordFailure(redis, webhookId, { nowMs: now(), isGone });
  if (because !== undefined) log.error({ webhookId, because }, 'webhook is disabled');
  if (isDead || because !== undefined) {
    log.warn({ webhookId, eventId: event.id, error }, 'event is given up for a webhook');
    throw new UnrecoverableError(error ?? '');
  }
  throw new DeliveryFailed(error ?? '', delayMs);
}

/**
 * Time to the next attempt: three times longer after each one up to two hours, by a quarter more or less so that webhooks which
 * failed together do not return together. The last attempt is 24 hours after the first.
 */
export function retryDelayMs(
  attemptsMade: number,
  { retryAfterMs = 0, leftMs }: { retryAfterMs: number | undefined; leftMs: number },
): number {
  const spread = 0.75 + Math.random() / 2;
  const delayMs = Math.min(firstDelayMs * 3 ** attemptsMade, maxDelayMs) * spread;
  return Math.round(Math.min(Math.max(delayMs, retryAfterMs), Math.max(leftMs, 0)));
}
