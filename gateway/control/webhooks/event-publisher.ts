import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { publishEvent } from './event-queue.ts';
import type { GatewayEvent } from './event-types.ts';

export type EventPublisher = ReturnType<typeof createEventPublisher>;

/** Further events are dropped: Redis has been down for long. */
const maxPending = 1000;

/** Events are found beside requests, which do not wait for them. */
export function createEventPublisher({ redis, log }: { redis: RedisClient; log: Logger }) {
  const waiting = new Map<string, { event: GatewayEvent; keptMs: number }>();
  const isLogDue = createLogThrottle();
  let flushing: Promise<void> | undefined;

  async function addAll(): Promise<void> {
    try {
      for (const [id, { event, keptMs }] of waiting) {
        await publishEvent(redis, event, keptMs);
        waiting.delete(id);
      }
    } catch (error) {
      if (isLogDue('event')) log.warn({ err: error, events: waiting.size }, 'events wait for Redis');
    }
  }

  function flush(): Promise<void> {
    flushing ??= addAll().finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  return {
    /** Adds the event to the queue at once, and again until Redis confirms it. */
    publish(event: GatewayEvent, keptMs: number): void {
      if (waiting.size >= maxPending) return;
      waiting.set(event.id, { event, keptMs });
      void flush();
    },
    /** Number of events that Redis has not confirmed. */
    pending: () => waiting.size,
    /** Adds what Redis has not confirmed. Never rejects. */
    flush,
  };
}
