import { setTimeout as sleep } from 'node:timers/promises';
import { readEventsAfter, readQueue } from '../../gateway/events/delivery-store.ts';
import { readWebhooks } from '../../gateway/events/webhook-record.ts';
import type { Session } from '../../gateway/operations/session.ts';
import { addWebhook } from '../../gateway/operations/webhooks.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { localRules } from '../support/kits/events-kit.ts';
import type { EventHistory } from './history.ts';

/*
 * All that depends on how events are stored.
 */

type Redis = Session['redis'];

const pollMs = 50;
const beginMs = 15_000;
/** A leader that was killed keeps its lease for 10 s. */
const settleMs = 30_000;
const maxEvents = 100_000;
/** Longer than a leader waits before it extends its lease. */
const otherLeaseMs = 2500;
/** How far the sweeps have come: 0 when they have looked at all customers. */
const sweepFields = ['sweep-use', 'sweep-keys'];

export async function waitUntil(isReached: () => Promise<boolean>, longestMs: number): Promise<void> {
  const deadlineMs = Date.now() + longestMs;
  while (!(await isReached()) && Date.now() < deadlineMs) await sleep(pollMs);
}

/** Adds a webhook for the events of all customers, unless there is one. From now on, changes are events. @returns its id */
export async function receiveEvents(session: Session, url: string): Promise<string> {
  const [known] = await readWebhooks(session.redis, 'operators');
  const { id } = known ?? (await addWebhook(session, 'operators', { url }, localRules));
  // The first leader follows changes from its first look on.
  await waitUntil(async () => (await session.redis.hget(redisKeys.eventState, 'audit')) !== null, beginMs);
  return id;
}

/** Resolves when a new leader has looked for what was lost, and all is delivered, or after a time in which that should be so. */
export async function untilDelivered(redis: Redis, webhookId: string): Promise<void> {
  // What is under way would be sent again by the new leader.
  await untilCalm(redis, webhookId);
  await redis.hdel(redisKeys.eventState, ...sweepFields);
  await redis.set(redisKeys.eventLeader, 'histories', 'PX', otherLeaseMs);
  await untilCalm(redis, webhookId);
}

/** Resolves when a sweep has ended and nothing is left to deliver. */
async function untilCalm(redis: Redis, webhookId: string): Promise<void> {
  const isDelivered = async () => {
    const [audit, stream, ...sweeps] = await redis.hmget(
      redisKeys.eventState,
      'audit',
      'stream',
      ...sweepFields,
    );
    const last = async (key: string) => (await redis.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0] ?? '0-0';
    return (
      sweeps.every((sweep) => sweep === '0') &&
      (await last(redisKeys.audit)) === audit &&
      (await last(redisKeys.events)) === stream &&
      (await readQueue(redis, webhookId)).length === 0
    );
  };
  await waitUntil(isDelivered, settleMs);
}

export async function readPublished(redis: Redis): Promise<EventHistory['published']> {
  const { events } = await readEventsAfter(redis, '0-0', maxEvents);
  return events.map(({ id, type, customerId = '', at, data }) => ({
    id,
    type,
    owner: customerId,
    atMs: Date.parse(at),
    data: Object.fromEntries(Object.entries(data)),
  }));
}
