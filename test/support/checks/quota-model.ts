import type { Limits } from '../../../gateway/plans/limits.ts';
import type { BanPolicy } from '../../../gateway/quota/ban-policy.ts';

/*
 * A second implementation of quotas and bans, without Redis, which the script is compared with. The test passes the
 * time and the number of the day.
 */

export type Expected =
  | { outcome: 'stale' }
  | { outcome: 'banned'; remainingMs: number; isNew: boolean }
  | { outcome: 'allowed' | 'limited'; minuteUsed: number; minuteLeftMs: number; dayUsage: number };

export interface ExpectedUsage {
  minuteUsed: number;
  minuteLeftMs: number;
  dayUsage: number;
  banMs: number;
  violations: number;
}

/** Stands for the content of a counter that was edited into a list. */
export const listContent = '(a list)';

interface Expiring {
  /** Undefined without an expiry, which only a manual edit can cause. */
  endsAtMs: number | undefined;
}

const minuteMs = 60_000;

/** A counter that is not a positive integer counts as zero. */
const parseCount = (text: string | undefined) => (/^[1-9]\d{0,14}$/.test(text ?? '') ? Number(text) : 0);

const integer = /^(0|-?[1-9]\d*)$/;

export class QuotaModel {
  rev = 1;
  minute: (Expiring & { text: string }) | undefined;
  days = new Map<number, string>();
  ban: Expiring | undefined;
  violations: number[] = [];
  consecutiveBans = 0;
  lastBanEndsAtMs = Number.NEGATIVE_INFINITY;

  private readonly policy: BanPolicy;

  constructor(policy: BanPolicy) {
    this.policy = policy;
  }

  /** @param rev the rev in the caller's cache; undefined accepts any */
  request(nowMs: number, day: number, limits: Limits, rev: number | undefined): Expected {
    if (rev !== undefined && rev !== this.rev) return { outcome: 'stale' };
    const { ban, policy } = this;
    if (ban !== undefined) {
      ban.endsAtMs ??= nowMs + policy.maxBanSeconds * 1000;
      if (nowMs < ban.endsAtMs) return { outcome: 'banned', remainingMs: ban.endsAtMs - nowMs, isNew: false };
    }
    const { minuteUsed, minuteLeftMs } = this.openMinute(nowMs);
    const dayUsage = parseCount(this.days.get(day));
    if (this.minute !== undefined && minuteUsed > 0) this.minute.endsAtMs ??= nowMs + minuteMs;
    if (minuteUsed >= limits.minute || dayUsage >= limits.day) {
      return this.recordViolation(nowMs) ?? { outcome: 'limited', minuteUsed, minuteLeftMs, dayUsage };
    }
    const endsAtMs = minuteUsed === 0 ? nowMs + minuteMs : this.minute?.endsAtMs;
    this.minute = { text: String(minuteUsed + 1), endsAtMs };
    this.days.set(day, String(dayUsage + 1));
    return { outcome: 'allowed', minuteUsed: minuteUsed + 1, minuteLeftMs, dayUsage: dayUsage + 1 };
  }

  usage(nowMs: number, day: number): ExpectedUsage {
    const { ban, policy } = this;
    const banEndsAtMs = ban && (ban.endsAtMs ?? nowMs + policy.maxBanSeconds * 1000);
    return {
      ...this.openMinute(nowMs),
      dayUsage: parseCount(this.days.get(day)),
      banMs: Math.max(0, (banEndsAtMs ?? nowMs) - nowMs),
      violations: this.recentViolations(nowMs).length,
    };
  }

  /** @returns false if the counter is not an integer */
  addToDay(day: number, requests: number): boolean {
    const text = this.days.get(day) ?? '0';
    if (!integer.test(text)) return false;
    this.days.set(day, String(BigInt(text) + BigInt(requests)));
    return true;
  }

  clearViolations(): void {
    this.violations = [];
    this.consecutiveBans = 0;
    this.lastBanEndsAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Times at which a decision changes. The decision on a request close to one is unpredictable. */
  transitionTimes(): number[] {
    const { violations, minute, ban, policy, lastBanEndsAtMs } = this;
    return [
      minute?.endsAtMs,
      ban?.endsAtMs,
      lastBanEndsAtMs + policy.resetSeconds * 1000,
      ...violations.flatMap((atMs) => [atMs + 1000, atMs + policy.windowSeconds * 1000]),
    ].filter((atMs) => atMs !== undefined);
  }

  private openMinute(nowMs: number): { minuteUsed: number; minuteLeftMs: number } {
    const { text, endsAtMs = nowMs + minuteMs } = this.minute ?? {};
    const minuteUsed = nowMs < endsAtMs ? parseCount(text) : 0;
    return { minuteUsed, minuteLeftMs: minuteUsed === 0 ? minuteMs : endsAtMs - nowMs };
  }

  private recentViolations(nowMs: number): number[] {
    return this.violations.filter((atMs) => atMs > nowMs - this.policy.windowSeconds * 1000);
  }

  /** @returns the ban that this violation leads to, if any */
  private recordViolation(nowMs: number): Expected | undefined {
    const { policy } = this;
    if (!policy.enabled || nowMs - (this.violations.at(-1) ?? 0) < 1000) return undefined;
    this.violations = [...this.recentViolations(nowMs), nowMs];
    if (this.violations.length < policy.violations) return undefined;
    if (nowMs >= this.lastBanEndsAtMs + policy.resetSeconds * 1000) this.consecutiveBans = 0;
    const remainingMs = Math.min(policy.banSeconds * 2 ** this.consecutiveBans, policy.maxBanSeconds) * 1000;
    this.ban = { endsAtMs: nowMs + remainingMs };
    this.lastBanEndsAtMs = nowMs + remainingMs;
    this.consecutiveBans += 1;
    this.violations = [];
    return { outcome: 'banned', remainingMs, isNew: true };
  }
}
