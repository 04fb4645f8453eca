import type { Caller } from '../api-keys/api-key-cache.ts';
import { thresholdWindows, unitsAt, type Thresholds } from '../limits/thresholds.ts';
import { dayNumberOf, utcDate } from '../limits/utc-day.ts';
import type { WindowStates } from '../limits/window-states.ts';
import { calendarStartMs, windowOf, type WindowName } from '../limits/windows.ts';
import type { Ban } from '../quota/quota-decision.ts';
import type { CustomerId } from '../redis/redis-keys.ts';
import { foundEvent, type FoundEvent } from './event-types.ts';
import type { PlanThresholds } from './plan-thresholds.ts';

interface UsedWindow {
  limit: number;
  used: number;
  resetMs: number;
}

interface Customer {
  customerId: CustomerId;
  plan: string;
  /** Its own, if it has any. */
  thresholds?: Thresholds | undefined;
}

const isoTime = (ms: number) => new Date(ms).toISOString();

/**
 * An event for each share of the limit that is used, and that was not before the last units.
 * @param shares those of the plan and the customer's own: a customer with own ones gets no events at the others
 */
export function thresholdEvents(
  { customerId, plan, thresholds: own }: Customer,
  shares: Thresholds,
  { window, use, units, nowMs }: { window: WindowName; use: UsedWindow; units: number; nowMs: number },
): FoundEvent[] {
  const { limit, used, resetMs } = use;
  const crossed = shares.filter((share) => crosses(used, units, unitsAt(share, limit)));
  return crossed.map((threshold) => {
    const startMs = calendarStartMs(window, nowMs);
    const date = utcDate(dayNumberOf(startMs));
    const period = windowOf(window).calendar === 'month' ? date.slice(0, 6) : date;
    const [windowStart, windowEnd] = [isoTime(startMs), isoTime(nowMs + resetMs)];
    return foundEvent({
      type: 'quota.threshold',
      customerId,
      atMs: nowMs,
      data: { customerId, plan, window, windowStart, windowEnd, threshold, limit, used },
      identity: [window, period, threshold],
      period,
      forOperators: own?.includes(threshold) === false,
    });
  });
}

/** Finds events in the decisions on requests, without a further Redis command. */
export interface UseObserver {
  /** @param units what the request costs */
  allowed(caller: Caller, decision: { windows: WindowStates; nowMs: number }, units: number): void;
  /** For each ban that this process meets. */
  banned(caller: Caller, ban: Ban): void;
}

export function createUseObserver({
  thresholds,
  publish,
}: {
  thresholds: Pick<PlanThresholds, 'of'>;
  publish: (event: FoundEvent) => void;
}): UseObserver {
  return {
    allowed(caller, { windows, nowMs }, units) {
      const shares = thresholds.of(caller);
      for (const window of thresholdWindows) {
        const state = windows[window];
        if (state === undefined) continue;
        const { limit, remaining, resetMs } = state;
        const used = limit - remaining;
        // All but a few requests end here. The counts of Redis are atomic, so one request crosses each threshold.
        if (!shares.some((share) => crosses(used, units, unitsAt(share, limit)))) continue;
        const use = { limit, used, resetMs };
        for (const event of thresholdEvents(caller, shares, { window, use, units, nowMs })) publish(event);
      }
    },
    banned({ id, customerId, name }, { nowMs, setEndMs }) {
      // An operator's ban is an event by the audit log.
      if (setEndMs === undefined) return;
      publish(
        foundEvent({
          type: 'ban.began',
          customerId,
          atMs: nowMs,
          data: { customerId, keyId: id, keyName: name, endsAt: isoTime(setEndMs), reason: null },
          identity: [id, setEndMs],
          // A ban lasts up to 30 days, and a process that is started meets it again.
          period: utcDate(dayNumberOf(setEndMs)).slice(0, 6),
        }),
      );
    },
  };
}

const crosses = (used: number, units: number, at: number) => used >= at && used - units < at;
