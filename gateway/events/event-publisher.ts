import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import { dayMs } from '../limits/utc-day.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { FoundEvent } from './event-types.ts';

export interface EventPublisher {
  /** Writes the event to the stream at once, and again until Redis confirms it. */
  publish(event: FoundEvent): void;
  /** Number of events that Redis has not confirmed. */
  pending(): number;
  /** Writes what Redis has not confirmed. Never rejects. */
  flush(): Promise<void>;
}

/** Approximate number of events that are kept: some 30 MB. */
const maxEvents = 100_000;
/** Further events are dropped, which the sweep finds again if they are about thresholds. */
const maxPending = 20_000;
const batchSize = 200;
/** A name that is no day is a month. */
const repeatMs = (period: string) => (period.length === 8 ? 3 : 40) * dayMs;

/** @returns whether it was not published before @throws Error if Redis does not confirm it */
export async function publishEvent(redis: RedisClient, event: FoundEvent): Promise<boolean> {
  const { id, type, customerId = '', at, data, webhook, forOperators, period } = event;
  const added = await redis.publishEvent(
    redisKeys.events,
    redisKeys.eventIds(period),
    id,
    repeatMs(period),
    maxEvents,
    ...Object.entries({ type, customer: customerId, at, data: JSON.stringify(data) }).flat(),
    ...(webhook === undefined ? [] : ['webhook', webhook]),
    ...(forOperators === true ? ['for', 'operators'] : []),
  );
  return added === 1;
}

interface EventPublisherDependencies {
  redis: RedisClient;
  /** Called for each event that was published. */
  onPublished: (event: FoundEvent) => void;
  /** Called for each event that is lost. */
  onDropped: () => void;
  log: Logger;
}

/** Events are found beside requests, which do not wait for them. */
export function createEventPublisher(dependencies: EventPublisherDependencies): EventPublisher {
  const { redis, onPublished, onDropped, log } = dependencies;
  const waiting = new Map<string, FoundEvent>();
  const isLogDue = createLogThrottle();
  let flushing: Promise<void> | undefined;

  async function send(event: FoundEvent): Promise<void> {
    if (await publishEvent(redis, event)) onPublished(event);
    waiting.delete(event.id);
  }

  async function sendAll(): Promise<void> {
    try {
      while (waiting.size > 0) await Promise.all([...waiting.values()].slice(0, batchSize).map(send));
    } catch (error) {
      if (isLogDue('event')) log.warn({ err: error, events: waiting.size }, 'events wait for Redis');
    }
  }

  function flush(): Promise<void> {
    flushing ??= sendAll().finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  return {
    publish(event) {
      if (waiting.size >= maxPending) return onDropped();
      waiting.set(event.id, event);
      void flush();
    },
    pending: () => waiting.size,
    flush,
  };
}
