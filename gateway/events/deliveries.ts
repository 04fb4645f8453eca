import type { Logger } from 'pino';
import type { Metrics } from '../observability/metrics.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isQueued, readEvent, settle, type DeliveryEntry } from './delivery-store.ts';
import type { GatewayEvent } from './event-types.ts';
import type { Attempt, WebhookSender } from './send-webhook.ts';
import { readSecrets, type Webhook } from './webhook-record.ts';

/** Times between attempts, 23.7 hours in all. An event that fails after the last one is given up. */
export const retryDelaysMs: readonly number[] = [
  5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800,
].map((seconds) => seconds * 1000);

/** A webhook that has failed for so long is disabled until somebody switches it on. */
export const disabledAfterMs = 3 * 86_400_000;
/** A webhook that fails gets one request at a time. */
const maxPerWebhook = 8;
const maxInFlight = 256;
/** Of one webhook. */
const maxQueued = 100_000;
/** After Redis did not record an attempt, which is then made again. */
const redisRetryMs = 5000;

/** The events of one customer for one webhook, which are sent one after the other. */
interface Lane {
  customerId: string;
  streamIds: string[];
  /** Failed attempts at the first of them. */
  attempts: number;
  timer?: NodeJS.Timeout;
}

/** A webhook with the events that it has yet to get. */
interface Receiver {
  webhook: Webhook;
  failingSinceMs: number | undefined;
  lanes: Map<string, Lane>;
  queued: Set<string>;
  ready: Lane[];
  inFlight: number;
}

/** Events on their way to webhooks, in the memory of the leader. Redis has the same queues. */
export interface Deliveries {
  /** Takes a webhook over as it is now. */
  setWebhook(webhook: Webhook, failingSinceMs: number | undefined): void;
  webhooks(): readonly Webhook[];
  /** Forgets those that are not in a list any more. */
  keepOnly(ids: ReadonlySet<string>): void;
  /** @param attempts failed ones so far */
  add(webhookId: string, event: { streamId: string; customerId: string }, attempts?: number): void;
  /** Whether it is to get an event. */
  has(webhookId: string, streamId: string): boolean;
  /** Whether it has so many events that further ones are given up at once. */
  isFull(webhookId: string): boolean;
  /** Whether it gets events: it is on, and has not failed for days. */
  isActive(webhook: Webhook): boolean;
  /** Sends an event that is in no queue once, and records it. */
  sendNow(webhook: Webhook, event: GatewayEvent): Promise<boolean>;
  /** Number of events in all queues, and Unix ms of the oldest. */
  queued(): { count: number; oldestMs: number | undefined; disabled: number };
  /** Ends what is under way, which the next leader repeats. */
  close(): void;
}

interface DeliveriesDependencies {
  redis: RedisClient;
  sender: Pick<WebhookSender, 'send'>;
  metrics: Pick<Metrics, 'deliveries'>;
  log: Logger;
  now: () => number;
  delaysMs?: readonly number[];
}

export function createDeliveries(dependencies: DeliveriesDependencies): Deliveries {
  const { redis, sender, metrics, log, now, delaysMs = retryDelaysMs } = dependencies;
  const receivers = new Map<string, Receiver>();
  let inFlight = 0;
  let closed = false;

  const isDisabled = ({ failingSinceMs }: Receiver) =>
    failingSinceMs !== undefined && now() - failingSinceMs > disabledAfterMs;

  /** An attempt may end after its webhook was removed, or after another process has become the leader. */
  const isCurrent = (receiver: Receiver) => !closed && receivers.get(receiver.webhook.id) === receiver;

  const isOn = (receiver: Receiver) => receiver.webhook.enabled && !isDisabled(receiver);

  function pumpAll(): void {
    for (const receiver of receivers.values()) pump(receiver);
  }

  function pump(receiver: Receiver): void {
    const max = receiver.failingSinceMs === undefined ? maxPerWebhook : 1;
    if (closed || !isOn(receiver)) return;
    while (receiver.inFlight < max && inFlight < maxInFlight) {
      const lane = receiver.ready.shift();
      if (lane === undefined) return;
      void deliver(receiver, lane);
    }
  }

  function makeReady(receiver: Receiver, lane: Lane, delayMs: number): void {
    lane.timer = setTimeout(() => {
      receiver.ready.push(lane);
      pump(receiver);
    }, delayMs);
    lane.timer.unref();
  }

  async function deliver(receiver: Receiver, lane: Lane): Promise<void> {
    const [streamId = ''] = lane.streamIds;
    receiver.inFlight += 1;
    inFlight += 1;
    let delayMs = 0;
    try {
      const outcome = await deliverQueued(receiver, streamId, lane.attempts + 1);
      if (!isCurrent(receiver)) return;
      if (outcome === 'failed') {
        delayMs = delaysMs[lane.attempts] ?? 0;
        lane.attempts += 1;
      } else {
        receiver.queued.delete(streamId);
        lane.streamIds.shift();
        lane.attempts = 0;
      }
    } catch (error) {
      // Redis is unavailable. The event is sent again, under the same id.
      log.warn({ err: error, webhookId: receiver.webhook.id }, 'a delivery was not recorded; it is repeated');
      delayMs = redisRetryMs;
    } finally {
      receiver.inFlight -= 1;
      inFlight -= 1;
      if (lane.streamIds.length === 0) receiver.lanes.delete(lane.customerId);
      else if (isCurrent(receiver)) makeReady(receiver, lane, delayMs);
      if (inFlight === maxInFlight - 1) pumpAll();
      else pump(receiver);
    }
  }

  /** @returns undefined if it need not be sent any more, or this is not the leader any more */
  async function deliverQueued(receiver: Receiver, streamId: string, number: number) {
    const { webhook } = receiver;
    const [queued, event] = await Promise.all([
      isQueued(redis, webhook.id, streamId),
      readEvent(redis, streamId),
    ]);
    if (!queued) return undefined;
    const entry = event === undefined ? lostEntry(streamId) : await attempt(webhook, event, number);
    // It may have been removed with its webhook, or delivered by another leader.
    if (!isCurrent(receiver) || !(await isQueued(redis, webhook.id, streamId))) return undefined;
    await record(receiver, streamId, entry);
    return entry.outcome;
  }

  async function attempt(webhook: Webhook, event: GatewayEvent, number: number): Promise<DeliveryEntry> {
    const sent = await sender.send(webhook, event, await readSecrets(redis, webhook));
    return entryOf(event, sent, number);
  }

  function entryOf(event: GatewayEvent, sent: Attempt, number: number): DeliveryEntry {
    const outcome = sent.delivered ? 'delivered' : number > delaysMs.length ? 'dead' : 'failed';
    const { id: eventId, type, customerId = null } = event;
    return {
      at: new Date(now()).toISOString(),
      eventId,
      type,
      customerId,
      attempt: number,
      outcome,
      ...sent,
    };
  }

  /** The stream has been trimmed. */
  function lostEntry(streamId: string): DeliveryEntry {
    const error = `the event ${streamId} is not kept any more`;
    const none = { eventId: '', type: '', customerId: null, delivered: false, status: null, ms: 0 };
    return { at: new Date(now()).toISOString(), ...none, attempt: 0, outcome: 'dead', error };
  }

  async function record(
    receiver: Receiver,
    streamId: string | undefined,
    entry: DeliveryEntry,
  ): Promise<void> {
    const { webhook } = receiver;
    metrics.deliveries.inc({ outcome: entry.outcome });
    const wasFailing = receiver.failingSinceMs !== undefined;
    if (entry.delivered) receiver.failingSinceMs = undefined;
    else receiver.failingSinceMs ??= Date.parse(entry.at);
    const { eventId, error } = entry;
    const facts = { webhookId: webhook.id, owner: webhook.owner, eventId, error };
    if (entry.outcome === 'dead')
      log.error(facts, 'event is given up for a webhook; ops webhooks replay sends it again');
    else if (!entry.delivered && !wasFailing)
      log.warn(facts, 'webhook fails; its events are sent again later');
    else if (isDisabled(receiver)) log.error(facts, 'webhook is disabled: it has failed for 3 days');
    await settle(redis, webhook.id, streamId, entry, receiver.failingSinceMs);
  }

  return {
    setWebhook(webhook, failingSinceMs) {
      const known = receivers.get(webhook.id);
      if (known === undefined) {
        const none = { lanes: new Map<string, Lane>(), queued: new Set<string>(), ready: [], inFlight: 0 };
        receivers.set(webhook.id, { webhook, failingSinceMs, ...none });
      } else {
        Object.assign(known, { webhook, failingSinceMs });
        pump(known);
      }
    },
    webhooks: () => Array.from(receivers.values(), ({ webhook }) => webhook),
    keepOnly(ids) {
      for (const [id, receiver] of receivers) {
        if (ids.has(id)) continue;
        for (const { timer } of receiver.lanes.values()) clearTimeout(timer);
        receiver.ready.length = 0;
        receivers.delete(id);
      }
    },
    add(webhookId, { streamId, customerId }, attempts = 0) {
      const receiver = receivers.get(webhookId);
      if (receiver === undefined || receiver.queued.has(streamId)) return;
      receiver.queued.add(streamId);
      const lane = receiver.lanes.get(customerId);
      if (lane !== undefined) return void lane.streamIds.push(streamId);
      const added: Lane = { customerId, streamIds: [streamId], attempts };
      receiver.lanes.set(customerId, added);
      receiver.ready.push(added);
      pump(receiver);
    },
    has: (webhookId, streamId) => receivers.get(webhookId)?.queued.has(streamId) === true,
    isFull: (webhookId) => (receivers.get(webhookId)?.queued.size ?? 0) >= maxQueued,
    isActive(webhook) {
      const receiver = receivers.get(webhook.id);
      return !closed && receiver !== undefined && isOn(receiver);
    },
    async sendNow(webhook, event) {
      const receiver = receivers.get(webhook.id);
      if (receiver === undefined) return false;
      const entry = await attempt(webhook, event, 1);
      if (!isCurrent(receiver)) return false;
      await record(receiver, undefined, entry);
      return entry.delivered;
    },
    queued() {
      let [count, oldestMs]: [number, number | undefined] = [0, undefined];
      let disabled = 0;
      for (const receiver of receivers.values()) {
        if (isDisabled(receiver)) disabled += 1;
        if (!isOn(receiver)) continue;
        count += receiver.queued.size;
        for (const { streamIds } of receiver.lanes.values()) {
          oldestMs = Math.min(oldestMs ?? Infinity, Number(streamIds[0]?.split('-')[0]));
        }
      }
      return { count, oldestMs, disabled };
    },
    close() {
      closed = true;
      for (const { lanes } of receivers.values()) for (const { timer } of lanes.values()) clearTimeout(timer);
    },
  };
}
