import { UnrecoverableError, type Job } from 'bullmq';
import type { Logger } from 'pino';
import type { Metrics } from '../../platform/observability/metrics.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import type { EventJob } from './event-queue.ts';
import type { WebhookSender } from './send-webhook.ts';
import { readWebhooks } from './webhook-record.ts';
import { clearFailures, readWebhookStatus, recordDelivery, recordFailure } from './webhook-status.ts';

const firstDelayMs = 5000;
/** A receiver that works again has to wait for no longer. */
const maxDelayMs = 7_200_000;
/** From the first attempt on. */
export const giveUpMs = 86_400_000;

/** A failed attempt that is made again after a time. */
export class DeliveryFailed extends Error {
  override name = 'DeliveryFailed';
  readonly delayMs: number;

  constructor(message: string, delayMs: number) {
    super(message);
    this.delayMs = delayMs;
  }
}

interface DeliverDependencies {
  redis: RedisClient;
  sender: WebhookSender;
  metrics: Pick<Metrics, 'deliveries'>;
  log: Logger;
  now: () => number;
}

type Delivery = Extract<EventJob, { kind: 'deliver' }>;

/** Makes one attempt of a job, and says by an error whether and when the next one is made. */
export function createDeliverer({ redis, sender, metrics, log, now }: DeliverDependencies) {
  return async function deliver(job: Job, { webhookId, event, isTest }: Delivery): Promise<void> {
    const webhook = (await readWebhooks(redis)).find(({ id }) => id === webhookId);
    if (webhook === undefined) return;
    const status = isTest ? {} : await readWebhookStatus(redis, webhookId);
    // What happens while it is off it does not get.
    if (!isTest && (!webhook.enabled || status.disabledAt !== undefined)) return;
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
  };
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
