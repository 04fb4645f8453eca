import type { Limits } from '../../../gateway/plans/limits.ts';
import type { BanPolicy } from '../../../gateway/quota/ban-policy.ts';

/*
 * What quotas and bans are meant to do, written down a second time and without Redis: the script is held against it.
 * Times are those of the test, which moves its own clock; the day is a number that the test gives.
 */

export type Expected =
  | { outcome: 'stale' }
  | { outcome: 'banned'; remainingMs: number; isNew: boolean }
  | { outcome: 'allowed' | 'limited'; minuteUsed: number; minuteLeftMs: number; dayUsed: number };

export interface ExpectedUsage {
  minuteUsed: number;
  minuteLeftMs: number;
  dayUsed: number;
  banMs: number;
  violations: number;
}

/** What a counter holds that was edited into a list. */
export const aList = '(a list)';

interface Expiring {
  /** Undefined: without an expiry, as only somebody who edits by hand leaves it. */
  endsAtMs: number | undefined;
}

const minuteMs = 60_000;

/** A counter that is no whole number counts as empty. */
const counted = (text: string | undefined) => (/^[1-9]\d{0,14}$/.test(text ?? '') ? Number(text) : 0);

const integer = /^(0|-?[1-9]\d*)$/;

export class QuotaModel {
  rev = 1;
  minute: (Expiring & { text: string }) | undefined;
  days = new Map<number, string>();
  ban: Expiring | undefined;
  refusals: number[] = [];
  bansInRow = 0;
  lastBanEndsAtMs = Number.NEGATIVE_INFINITY;

  private readonly policy: BanPolicy;

  constructor(policy: BanPolicy) {
    this.policy = policy;
  }

  /** @param rev that the caller knows, undefined to take the record as it is */
  request(nowMs: number, day: number, limits: Limits, rev: number | undefined): Expected {
    if (rev !== undefined && rev !== this.rev) return { outcome: 'stale' };
    const { ban, policy } = this;
    if (ban !== undefined) {
      ban.endsAtMs ??= nowMs + policy.maxBanSeconds * 1000;
      if (nowMs < ban.endsAtMs) return { outcome: 'banned', remainingMs: ban.endsAtMs - nowMs, isNew: false };
    }
    const { minuteUsed, minuteLeftMs } = this.openMinute(nowMs);
    const dayUsed = counted(this.days.get(day));
    if (this.minute !== undefined && minuteUsed > 0) this.minute.endsAtMs ??= nowMs + minuteMs;
    if (minuteUsed >= limits.minute || dayUsed >= limits.day) {
      return this.refuse(nowMs) ?? { outcome: 'limited', minuteUsed, minuteLeftMs, dayUsed };
    }
    const endsAtMs = minuteUsed === 0 ? nowMs + minuteMs : this.minute?.endsAtMs;
    this.minute = { text: String(minuteUsed + 1), endsAtMs };
    this.days.set(day, String(dayUsed + 1));
    return { outcome: 'allowed', minuteUsed: minuteUsed + 1, minuteLeftMs, dayUsed: dayUsed + 1 };
  }

  usage(nowMs: number, day: number): ExpectedUsage {
    const { ban, policy } = this;
    const banEndsAtMs = ban && (ban.endsAtMs ?? nowMs + policy.maxBanSeconds * 1000);
    return {
      ...this.openMinute(nowMs),
      dayUsed: counted(this.days.get(day)),
      banMs: Math.max(0, (banEndsAtMs ?? nowMs) - nowMs),
      violations: this.recentRefusals(nowMs).length,
    };
  }

  /** @returns whether the counter can be added to */
  addToDay(day: number, requests: number): boolean {
    const text = this.days.get(day) ?? '0';
    if (!integer.test(text)) return false;
    this.days.set(day, String(BigInt(text) + BigInt(requests)));
    return true;
  }

  forgetRefusals(): void {
    this.refusals = [];
    this.bansInRow = 0;
    this.lastBanEndsAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Moments at which an answer changes. So close to one nobody can say which side a request is on. */
  turningPoints(): number[] {
    const { refusals, minute, ban, policy, lastBanEndsAtMs } = this;
    return [
      minute?.endsAtMs,
      ban?.endsAtMs,
      lastBanEndsAtMs + policy.resetSeconds * 1000,
      ...refusals.flatMap((atMs) => [atMs + 1000, atMs + policy.windowSeconds * 1000]),
    ].filter((atMs) => atMs !== undefined);
  }

  private openMinute(nowMs: number): { minuteUsed: number; minuteLeftMs: number } {
    const { text, endsAtMs = nowMs + minuteMs } = this.minute ?? {};
    const minuteUsed = nowMs < endsAtMs ? counted(text) : 0;
    return { minuteUsed, minuteLeftMs: minuteUsed === 0 ? minuteMs : endsAtMs - nowMs };
  }

  private recentRefusals(nowMs: number): number[] {
    return this.refusals.filter((atMs) => atMs > nowMs - this.policy.windowSeconds * 1000);
  }

  /** @returns the ban that this refusal leads to, if it does */
  private refuse(nowMs: number): Expected | undefined {
    const { policy } = this;
    if (!policy.enabled || nowMs - (this.refusals.at(-1) ?? 0) < 1000) return undefined;
    this.refusals = [...this.recentRefusals(nowMs), nowMs];
    if (this.refusals.length < policy.violations) return undefined;
    if (nowMs >= this.lastBanEndsAtMs + policy.resetSeconds * 1000) this.bansInRow = 0;
    const remainingMs = Math.min(policy.banSeconds * 2 ** this.bansInRow, policy.maxBanSeconds) * 1000;
    this.ban = { endsAtMs: nowMs + remainingMs };
    this.lastBanEndsAtMs = nowMs + remainingMs;
    this.bansInRow += 1;
    this.refusals = [];
    return { outcome: 'banned', remainingMs, isNew: true };
  }
}
