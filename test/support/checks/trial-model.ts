import type { WindowName } from '../../../gateway/limits/windows.ts';
import type { TrialLimits } from '../../../gateway/plans/trial.ts';

export interface TrialModelCounts {
  since: number;
  requests: number;
  refusedMinute: number;
  refusedDay: number;
}

const minuteMs = 60_000;

/**
 * A second implementation of limits on trial, without Redis, which trial.lua is compared with: it keeps the times of the
 * requests that the trial would have allowed, and no counters. The test passes the time and the number of the day.
 */
export class TrialModel {
  /** Limits on trial now. */
  trial: TrialLimits | undefined;
  private since: number | undefined;
  private requests = 0;
  private refused: WindowName[] = [];
  /** Days of the requests that the trial would have allowed, once for each unit. */
  private allowedDays: number[] = [];
  private minute: { endsAtMs: number; allowed: number } | undefined;

  /** A request that was not made during a ban. @returns the window that would have refused it */
  request(
    nowMs: number,
    { day, msToMidnight }: { day: number; msToMidnight: number },
    units = 1,
  ): WindowName | undefined {
    const { trial } = this;
    if (trial === undefined) return undefined;
    if (trial.since !== this.since) this.clear();
    this.since = trial.since;
    this.requests += 1;
    if (this.minute !== undefined && nowMs >= this.minute.endsAtMs) this.minute = undefined;
    if (this.minute !== undefined) this.minute.endsAtMs = Math.min(this.minute.endsAtMs, nowMs + minuteMs);
    const isMinuteFull = (this.minute?.allowed ?? 0) + units > trial.minute;
    const usedOfDay = this.allowedDays.filter((other) => other === day).length;
    const isDayFull = usedOfDay + units > trial.day;
    if (!isMinuteFull && !isDayFull) {
      this.minute ??= { endsAtMs: nowMs + minuteMs, allowed: 0 };
      this.minute.allowed += units;
      this.allowedDays.push(...Array<number>(units).fill(day));
      return undefined;
    }
    const endsLater = msToMidnight >= (this.minute?.endsAtMs ?? nowMs + minuteMs) - nowMs ? 'day' : 'minute';
    const both = isMinuteFull && isDayFull;
    const refusedBy = both ? endsLater : isDayFull ? 'day' : 'minute';
    this.refused.push(refusedBy);
    return refusedBy;
  }

  /** @returns undefined before the first request of a trial */
  counts(): TrialModelCounts | undefined {
    const { since, requests, refused } = this;
    if (since === undefined) return undefined;
    const count = (window: WindowName) => refused.filter((other) => other === window).length;
    return { since, requests, refusedMinute: count('minute'), refusedDay: count('day') };
  }

  /** Somebody has deleted the counts, or edited them into another type of value. */
  clear(): void {
    this.since = undefined;
    this.requests = 0;
    this.refused = [];
    this.allowedDays = [];
    this.minute = undefined;
  }

  /** Moves the clock of Redis, and with it nothing that is stored. */
  setClockBack(byMs: number): void {
    if (this.minute !== undefined) this.minute.endsAtMs += byMs;
  }

  /** Times at which a decision changes. */
  transitionTimes(): number[] {
    return this.minute === undefined ? [] : [this.minute.endsAtMs];
  }
}
