import { createLogThrottle } from '#runtime/log-throttle.ts';
import { Worker } from 'bullmq';
import type { Logger } from 'pino';
import type { Metrics } from '../../platform/observability/metrics.ts';
import { createRedis, type RedisClient } from '../../platform/redis/redis-client.ts';
import { isRedisConnectionLost } from '../../platform/redis/redis-errors.ts';
import { eventQueue, parsePlace, redisKeys } from '../../platform/redis/redis-keys.ts';
import { createDeliverer, DeliveryFailed } from './deliver-event.ts';
import { publishEvent, queueOptions, type EventJob } from './event-queue.ts';
import { gatewayEvent } from './event-types.ts';
import { createWebhookSender } from './send-webhook.ts';
import { readWebhooks } from './webhook-record.ts';
import { deliveryOutcomes, readDisabled } from './webhook-status.ts';

interface EventsDependencies {
  redisUrl: string;
  webhookNetworks: readonly string[];
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
export function startEvents({ redisUrl, webhookNetworks, metrics, log, now }: EventsDependencies) {
  const redis = createRedis(redisUrl, log, { isBlocking: true });
  for (const outcome of deliveryOutcomes) metrics.deliveries.inc({ outcome }, 0);
  const sender = createWebhookSender({ allowedNetworks: webhookNetworks, now });
  const deliver = createDeliverer({ redis, sender, metrics, log, now });
  const isLogDue = createLogThrottle();
  const worker = new Worker<EventJob>(
    eventQueue.name,
    (job) => (job.data.kind === 'deliver' ? deliver(job, job.data) : expire(redis, job.data, now())),
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

const countDisabled = async (redis: RedisClient) =>
  (await readDisabled(redis, await readWebhooks(redis))).length;

/** A key was replaced, has ended or has another expiry since this was scheduled: then nobody has to be told. */
async function expire(
  redis: RedisClient,
  { keyId, expiresAt }: Extract<EventJob, { kind: 'expiring' }>,
  nowMs: number,
): Promise<void> {
  const place = parsePlace((await redis.hget(redisKeys.apiKeyIds, keyId)) ?? '');
  if (place === undefined) return;
  const fields = ['expiresAt', 'name', 'revokedAt', 'replacedBy'];
  const [present, name, ended, replaced] = await redis.hmget(redisKeys.apiKey(place), ...fields);
  if (present !== expiresAt || ended || replaced || Date.parse(expiresAt) <= nowMs) return;
  const { customerId } = place;
  const data = { customerId, keyId, keyName: name ?? '', expiresAt };
  const identity = [keyId, expiresAt];
  await publishEvent(redis, gatewayEvent({ type: 'key.expiring', customerId, atMs: nowMs, data, identity }));
}
