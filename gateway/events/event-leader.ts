import { randomUUID } from 'node:crypto';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { Metrics } from '../observability/metrics.ts';
import type { Plans } from '../plans/plans.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType, keysOfWrongType } from '../redis/redis-errors.ts';
import { isCustomerId, redisKeys, type WebhookOwner } from '../redis/redis-keys.ts';
import { readAuditEvents } from './audit-events.ts';
import { createDeliveries, type Deliveries } from './deliveries.ts';
import {
  enqueue,
  readEvent,
  readEventsAfter,
  readFailingSince,
  readQueue,
  webhookChangeField,
} from './delivery-store.ts';
import { publishEvent } from './event-publisher.ts';
import type { FoundEvent } from './event-types.ts';
import { createLossWatch } from './loss-watch.ts';
import type { PlanThresholds } from './plan-thresholds.ts';
import type { WebhookSender } from './send-webhook.ts';
import { sweep } from './sweep.ts';
import { feedUsage } from './usage-feed.ts';
import { isFor, readWebhooks } from './webhook-record.ts';

export interface EventLeaderDependencies {
  redis: RedisClient;
  plans: Plans;
  thresholds: PlanThresholds;
  sender: WebhookSender;
  metrics: Metrics;
  log: Logger;
  /** Redis' clock, and what reads it. */
  now: () => number;
  syncClock: () => Promise<void>;
  delaysMs?: readonly number[];
}

type Task = 'lease' | 'tick' | 'sweep' | 'feed';

const tickMs = 1000;
/** After a leader was killed, another one delivers after this time. */
const leaseMs = 10_000;
const sweepMs = 60_000;
const feedMs = 60_000;
/** Entries or events of one tick. */
const pageSize = 500;

/**
 * Delivers events while this process is the leader of all gateways: it derives events from the audit log, sweeps for events
 * that were lost, and hands all of them to the webhooks that want them.
 */
export function startEventLeader(dependencies: EventLeaderDependencies): { close(): Promise<void> } {
  const { redis, plans, thresholds, sender, metrics, log, now } = dependencies;
  const id = randomUUID();
  const isLogDue = createLogThrottle();
  const losses = createLossWatch(redis);
  let deliveries: Deliveries | undefined;
  let leaseEndsMs = 0;
  let [sweepDueMs, feedDueMs] = [0, 0];
  /** The last change of webhooks when they were read. */
  let loadedChange: string | null | undefined;
  const running = new Map<Task, Promise<void>>();

  /** How far this leader has read. */
  const cursors = new Map<'audit' | 'stream', string>();

  const isLeader = () => performance.now() < leaseEndsMs;

  async function lead(): Promise<Deliveries | undefined> {
    if (!isLeader()) {
      // Another process may have delivered since.
      resign();
      // A tick of the last term would still write how far the next one has read.
      await running.get('tick');
      cursors.clear();
    }
    const askedMs = performance.now();
    const leads = (await redis.lead(redisKeys.eventLeader, id, leaseMs)) === 1;
    if (!leads) {
      resign();
      return undefined;
    }
    leaseEndsMs = askedMs + leaseMs;
    if (deliveries === undefined) {
      deliveries = createDeliveries(dependencies);
      loadedChange = undefined;
      sweepDueMs = 0;
      await losses.begin(id);
      log.debug('this process delivers events to webhooks');
    }
    return deliveries;
  }

  function resign(): void {
    leaseEndsMs = 0;
    cursors.clear();
    deliveries?.close();
    deliveries = undefined;
    metrics.undelivered.set(0);
    metrics.oldestUndelivered.set(0);
    metrics.disabledWebhooks.set(0);
  }

  async function loadWebhooks(target: Deliveries): Promise<void> {
    const owners = await redis.smembers(redisKeys.webhookOwners);
    const loaded = await Promise.all(
      owners.filter(isOwner).map((owner) => loadOwner(target, owner).catch(leaveOutWrongType)),
    );
    target.keepOnly(new Set(loaded.flat()));
  }

  /** Takes over the webhooks of an owner, and events in their queues that are not known yet. */
  async function loadOwner(target: Deliveries, owner: WebhookOwner): Promise<string[]> {
    const webhooks = await readWebhooks(redis, owner);
    for (const webhook of webhooks) {
      target.setWebhook(webhook, await readFailingSince(redis, webhook.id));
      for (const { streamId, attempts } of await readQueue(redis, webhook.id)) {
        if (target.has(webhook.id, streamId)) continue;
        const customerId = isCustomerId(owner) ? owner : (await readEvent(redis, streamId))?.customerId;
        target.add(webhook.id, { streamId, customerId: customerId ?? '' }, attempts);
      }
    }
    return webhooks.map((webhook) => webhook.id);
  }

  /** What was edited by hand into another type of value delays no other owner's events. */
  function leaveOutWrongType(error: unknown): string[] {
    if (!isWrongType(error)) throw error;
    const key = keysOfWrongType(error).join(', ');
    if (isLogDue(key))
      log.warn({ key }, 'webhooks cannot be read: the key has another type of value; delete it');
    return [];
  }

  async function publish(event: FoundEvent): Promise<void> {
    if (await publishEvent(redis, event)) metrics.events.inc({ type: event.type });
  }

  /** From now on if nobody has read the audit log before. */
  async function cursorOf(name: 'audit' | 'stream'): Promise<string> {
    const known = cursors.get(name) ?? (await redis.hget(redisKeys.eventState, name)) ?? '';
    if (/^\d+-\d+$/.test(known)) {
      cursors.set(name, known);
      return known;
    }
    const [newest] = name === 'audit' ? await redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', 1) : [];
    const first = newest?.[0] ?? '0-0';
    await redis.hset(redisKeys.eventState, name, first);
    return first;
  }

  async function followAudit(): Promise<void> {
    const { events, last } = await readAuditEvents(redis, await cursorOf('audit'), pageSize, now());
    for (const event of events) await publish(event);
    if (last === undefined) return;
    await redis.hset(redisKeys.eventState, 'audit', last);
    cursors.set('audit', last);
  }

  async function dispatch(target: Deliveries): Promise<void> {
    for (;;) {
      const cursor = await cursorOf('stream');
      const { events, last } = await readEventsAfter(redis, cursor, pageSize);
      // After the events were read: a webhook gets all those since it was made.
      const change = await redis.hget(redisKeys.eventState, webhookChangeField);
      if (change !== loadedChange) {
        await loadWebhooks(target);
        loadedChange = change;
      }
      if (last === undefined || !isLeader()) return;
      const active = Map.groupBy(target.webhooks().filter(target.isActive), ({ owner }) => owner);
      const targets = events.flatMap((event) => {
        const { streamId, customerId = '' } = event;
        const owners = ['operators' as const, ...(isCustomerId(customerId) ? [customerId] : [])];
        return owners
          .flatMap((owner) => active.get(owner) ?? [])
          .filter((webhook) => isFor(webhook, event))
          .map(({ id: webhookId }) => ({
            webhookId,
            streamId,
            customerId,
            isFull: target.isFull(webhookId),
          }));
      });
      await enqueue(redis, targets, last);
      cursors.set('stream', last);
      for (const each of targets) if (!each.isFull) target.add(each.webhookId, each);
    }
  }

  async function sweepAll(): Promise<void> {
    const isFast = await losses.beginSweep();
    await Promise.all([dependencies.syncClock(), plans.refresh(), thresholds.refresh()]);
    for await (const events of sweep({ redis, plans, thresholds, now }, isFast)) {
      if (!isLeader()) return;
      await Promise.all(events.map(publish));
    }
  }

  async function feedAll(target: Deliveries): Promise<void> {
    const context = { redis, deliveries: target, now };
    await Promise.all(target.webhooks().map((webhook) => feedUsage(context, webhook)));
  }

  /** Runs a task beside the others, unless its last run has not ended. */
  function inBackground(name: Task, task: () => Promise<void>): void {
    if (running.has(name)) return;
    const run = task()
      .catch(logFailure)
      .finally(() => running.delete(name));
    running.set(name, run);
  }

  function logFailure(error: unknown): void {
    if (isLogDue('leader')) log.warn({ err: error }, 'events cannot be delivered at the moment; retrying');
  }

  async function tick(target: Deliveries): Promise<void> {
    await followAudit();
    await dispatch(target);
    await losses.look();
    if (performance.now() >= sweepDueMs) {
      sweepDueMs = performance.now() + sweepMs;
      // Some were edited by hand, or lost with Redis.
      await loadWebhooks(target);
      inBackground('sweep', sweepAll);
    }
    if (performance.now() >= feedDueMs) {
      feedDueMs = performance.now() + feedMs;
      inBackground('feed', () => feedAll(target));
    }
    const { count, oldestMs, disabled } = target.queued();
    metrics.undelivered.set(count);
    metrics.oldestUndelivered.set(oldestMs === undefined ? 0 : Math.max(0, (now() - oldestMs) / 1000));
    metrics.disabledWebhooks.set(disabled);
  }

  /** Keeps the lease also while a tick is under way, which may take longer. */
  async function keepLease(): Promise<void> {
    const target = await lead();
    if (target !== undefined) inBackground('tick', () => tick(target));
  }

  const timer = setInterval(() => {
    if (redis.status === 'ready') inBackground('lease', keepLease);
  }, tickMs);

  return {
    async close() {
      clearInterval(timer);
      losses.close();
      // The lease first: it begins a tick.
      await running.get('lease');
      await running.get('tick');
      if (isLeader()) {
        await losses.end().catch(() => 0);
        await redis.del(redisKeys.eventLeader).catch(() => 0);
      }
      resign();
      await sender.close();
    },
  };
}

const isOwner = (text: string): text is WebhookOwner => text === 'operators' || isCustomerId(text);
