import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { Caller } from '../../keys/api-key-cache.ts';
import {
  windows as allWindows,
  calendarStartMs,
  dayNumberOf,
  utcDate,
  type WindowName,
} from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import type { Ban, DecisionListener } from '../../quota/quota-decision.ts';
import { publishEvent } from './event-queue.ts';
import { gatewayEvent, type GatewayEvent } from './event-types.ts';

/** Shares of a limit in percent. */
const thresholds = [80, 100];
/** A minute ends before anybody reads of it. */
const thresholdWindows: readonly WindowName[] = allWindows
  .filter(({ calendar }) => calendar !== undefined)
  .map(({ name }) => name);

/** Units from which on a share of a limit is used. */
const unitsAt = (share: number, limit: number) => Math.ceil((limit * share) / 100);

const isoTime = (ms: number) => new Date(ms).toISOString();

/** Finds events in the decisions on requests, without a further Redis command. */
export function createUseObserver({ publish }: { publish: (event: GatewayEvent, keptMs: number) => void }) {
  return {
    decided: (({ customerId, plan }, decision, units) => {
      if (decision.outcome !== 'allowed' || decision.isLocal) return;
      const { windows, nowMs } = decision;
      for (const window of thresholdWindows) {
        const state = windows[window];
        if (state === undefined) continue;
        const { limit, remaining, resetMs } = state;
        const used = limit - remaining;
        for (const threshold of thresholds) {
          const at = unitsAt(threshold, limit);
          // All but a few requests end here. The counts of Redis are atomic, so one request crosses each threshold.
          if (used < at || used - units >= at) continue;
          const startMs = calendarStartMs(window, nowMs);
          const event = gatewayEvent({
            type: 'quota.threshold',
            customerId,
            atMs: nowMs,
            data: {
              customerId,
              plan,
              window,
              windowStart: isoTime(startMs),
              windowEnd: isoTime(nowMs + resetMs),
              threshold,
              limit,
              used,
            },
            identity: [window, utcDate(dayNumberOf(startMs)), threshold],
          });
          publish(event, resetMs);
        }
      }
    }) satisfies DecisionListener,
    /** For each ban that this process meets. */
    banned({ id, customerId, name }: Caller, { nowMs, remainingMs, setEndMs }: Ban): void {
      // An operator's ban is published with the operator's change.
      if (setEndMs === undefined) return;
      const event = gatewayEvent({
        type: 'ban.began',
        customerId,
        atMs: nowMs,
        data: { customerId, keyId: id, keyName: name, endsAt: isoTime(setEndMs), reason: null },
        identity: [id, setEndMs],
      });
      publish(event, remainingMs);
    },
  };
}

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
