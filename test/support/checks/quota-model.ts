import type { BanPolicy } from '../../../gateway/quota/policies.ts';

/*
 * A second implementation of quotas and bans, without Redis, which the script is compared with. The test passes the
 * time and the number of the day.
 */

export type Expected =
  | { outcome: 'stale' }
  | { outcome: 'banned'; remainingMs: number; isNew: boolean; reason: string | undefined }
  | { outcome: 'allowed' | 'limited'; minuteUsed: number; minuteLeftMs: number; dayUsage: number };

export interface ExpectedUsage {
  minuteUsed: number;
  minuteLeftMs: number;
  dayUsage: number;
  banMs: number;
  strikes: number;
}

interface Expiring {
  /** Undefined without an expiry, which only a manual edit can cause. */
  endsAtMs: number | undefined;
}

interface Violations {
  refusedSinceMs: number | undefined;
  /** Units of the month with the customer's last allowed request. */
  lastAllowed: number | undefined;
  strikes: number;
  strikesSinceMs: number;
  consecutiveBans: number;
  bannedUntilMs: number;
  /** By a gateway. */
  lastBan: { sinceMs: number; wentOn: boolean } | undefined;
}

const minuteMs = 60_000;
const banUnderWayMs = 1000;

/** A counter that is not a positive integer counts as zero. */
const parseCount = (text: string | undefined) => (/^[1-9]\d{0,14}$/.test(text ?? '') ? Number(text) : 0);

/** Limits of the windows that the model has. */
export type ModelLimits = Record<'minute' | 'day', number>;

/** A customer with two keys, of which one sends requests until they are switched. */
export class QuotaModel {
  rev = 1;
  minute: (Expiring & { text: string }) | undefined;
  days = new Map<number, string>();
  private beyond = new Map<number, number>();
  /** Units of the month. An edit of a day does not change it. */
  private sum = 0;
  ban: { endsAtMs: number; reason?: string } | undefined;
  violations: (Violations & Expiring) | undefined;
  /** Ban and strikes of the other key. All else is the customer's. */
  private other: Pick<QuotaModel, 'ban' | 'violations'> = { ban: undefined, violations: undefined };

  private readonly policy: BanPolicy;

  constructor(policy: BanPolicy) {
    this.policy = policy;
  }

  switchKey(): void {
    const { ban, violations } = this;
    ({ ban: this.ban, violations: this.violations } = this.other);
    this.other = { ban, violations };
  }

  /** @param rev the rev in the caller's cache; undefined accepts any */
  request(nowMs: number, day: number, limits: ModelLimits, rev: number | undefined, units = 1): Expected {
    if (rev !== undefined && rev !== this.rev) return { outcome: 'stale' };
    const { ban } = this;
    if (ban !== undefined && nowMs < ban.endsAtMs) {
      const { lastBan } = this.keptViolations(nowMs);
      if (lastBan !== undefined && nowMs - lastBan.sinceMs >= banUnderWayMs) lastBan.wentOn = true;
      return { outcome: 'banned', remainingMs: ban.endsAtMs - nowMs, isNew: false, reason: ban.reason };
    }
    const { minuteUsed, minuteLeftMs, isOpen } = this.openMinute(nowMs);
    const dayUsage = parseCount(this.days.get(day));
    if (minuteUsed + units > limits.minute || dayUsage + units > limits.day) {
      const refused: Expected = { outcome: 'limited', minuteUsed, minuteLeftMs, dayUsage };
      return this.recordRefusal(nowMs, limits.minute) ?? refused;
    }
    const endsAtMs = isOpen ? this.minute?.endsAtMs : nowMs + minuteMs;
    this.minute = { text: String(minuteUsed + units), endsAtMs };
    this.days.set(day, String(dayUsage + units));
    this.sum += units;
    this.beyond.set(day, this.beyondOn(day) + units - 1);
    return { outcome: 'allowed', minuteUsed: minuteUsed + units, minuteLeftMs, dayUsage: dayUsage + units };
  }

  usage(nowMs: number, day: number): ExpectedUsage {
    return {
      ...this.openMinute(nowMs),
      dayUsage: parseCount(this.days.get(day)),
      banMs: Math.max(0, (this.ban?.endsAtMs ?? nowMs) - nowMs),
      strikes: this.currentStrikes(nowMs),
    };
  }

  /** Requests that the record of use shows for a day. */
  servedOn(day: number): number {
    return Math.max(0, parseCount(this.days.get(day)) - this.beyondOn(day));
  }

  unitsOn(day: number): number {
    return parseCount(this.days.get(day));
  }

  /** What its requests cost beyond one each. */
  private beyondOn(day: number): number {
    return this.beyond.get(day) ?? 0;
  }

  /** @param isInMonth whether the day is in the month of today */
  addToDay(day: number, requests: number, isInMonth: boolean): void {
    this.days.set(day, String(this.unitsOn(day) + requests));
    if (isInMonth) this.sum += requests;
  }

  /** The violations that have not expired, or none. */
  keptViolations(nowMs: number): Violations & Expiring {
    const { violations } = this;
    if (violations !== undefined && nowMs < (violations.endsAtMs ?? Number.POSITIVE_INFINITY))
      return violations;
    this.violations = undefined;
    return {
      endsAtMs: undefined,
      refusedSinceMs: undefined,
      lastAllowed: undefined,
      strikes: 0,
      strikesSinceMs: 0,
      consecutiveBans: 0,
      bannedUntilMs: 0,
      lastBan: undefined,
    };
  }

  /** Moves the clock of Redis, and with it nothing that is stored. */
  setClockBack(nowMs: number, byMs: number): void {
    // The model's time goes on, so everything stored is later by as much.
    const delay = (expiring: Expiring | undefined) => {
      if (expiring?.endsAtMs !== undefined && expiring.endsAtMs > nowMs) expiring.endsAtMs += byMs;
    };
    delay(this.minute);
    for (let key = 0; key < 2; key += 1) {
      this.keptViolations(nowMs);
      const { ban, violations } = this;
      delay(ban);
      delay(violations);
      if (violations !== undefined) this.delayViolations(violations, byMs);
      this.switchKey();
    }
  }

  private delayViolations(violations: Violations, byMs: number): void {
    if (violations.refusedSinceMs !== undefined) violations.refusedSinceMs += byMs;
    if (violations.strikesSinceMs > 0) violations.strikesSinceMs += byMs;
    if (violations.bannedUntilMs > 0) violations.bannedUntilMs += byMs;
    if (violations.lastBan !== undefined) violations.lastBan.sinceMs += byMs;
  }

  /** Times at which a decision changes. The decision on a request close to one is unpredictable. */
  transitionTimes(): number[] {
    const { violations, minute, ban, policy } = this;
    const { refusedSinceMs = 0, strikesSinceMs = 0, bannedUntilMs = 0, lastBan } = violations ?? {};
    return [
      minute?.endsAtMs,
      ban?.endsAtMs,
      lastBan && lastBan.sinceMs + banUnderWayMs,
      violations?.endsAtMs,
      refusedSinceMs + policy.graceSeconds * 1000,
      strikesSinceMs + policy.windowSeconds * 1000,
      bannedUntilMs + policy.resetSeconds * 1000,
    ].filter((atMs) => atMs !== undefined);
  }

  private openMinute(nowMs: number): { minuteUsed: number; minuteLeftMs: number; isOpen: boolean } {
    const { text, endsAtMs = nowMs } = this.minute ?? {};
    const minuteUsed = nowMs < endsAtMs ? parseCount(text) : 0;
    // A minute of which everything was given back goes on.
    const isOpen = minuteUsed > 0 || (nowMs < endsAtMs && text === '0');
    // It is longer after the clock was set back.
    if (this.minute !== undefined && isOpen) this.minute.endsAtMs = Math.min(endsAtMs, nowMs + minuteMs);
    return { minuteUsed, minuteLeftMs: isOpen ? Math.min(minuteMs, endsAtMs - nowMs) : minuteMs, isOpen };
  }

  private currentStrikes(nowMs: number): number {
    const { strikes, strikesSinceMs } = this.keptViolations(nowMs);
    const isOpen = nowMs >= strikesSinceMs && nowMs < strikesSinceMs + this.policy.windowSeconds * 1000;
    return isOpen ? strikes : 0;
  }

  /** @returns the ban that this refusal leads to, if any */
  private recordRefusal(nowMs: number, limit: number): Expected | undefined {
    const { policy } = this;
    if (!policy.enabled) return undefined;
    const before = this.keptViolations(nowMs);
    const { refusedSinceMs, bannedUntilMs, lastBan } = before;
    const resetAtMs = bannedUntilMs + policy.resetSeconds * 1000;
    const endsAtMs = Math.max(nowMs + (policy.graceSeconds + policy.windowSeconds) * 1000, resetAtMs);
    const lastAllowed = this.sum;
    const isFirst =
      refusedSinceMs === undefined || refusedSinceMs > nowMs || before.lastAllowed !== lastAllowed;
    if (isFirst) {
      this.violations = { ...before, refusedSinceMs: nowMs, lastAllowed, endsAtMs };
      return undefined;
    }
    if (nowMs - refusedSinceMs <= policy.graceSeconds * 1000) return undefined;
    const current = this.currentStrikes(nowMs);
    const strikes = current + 1;
    if (strikes < Math.max(policy.strikes, limit * policy.strikesPerLimit)) {
      const strikesSinceMs = current === 0 ? nowMs : before.strikesSinceMs;
      this.violations = { ...before, strikes, strikesSinceMs, endsAtMs };
      return undefined;
    }
    const doubles = lastBan?.wentOn === true && nowMs < resetAtMs;
    const consecutiveBans = (doubles ? before.consecutiveBans : 0) + 1;
    const seconds = Math.min(policy.banSeconds * 2 ** (consecutiveBans - 1), policy.maxBanSeconds);
    const lengthMs = seconds * 1000;
    const untilMs = nowMs + lengthMs;
    this.ban = { endsAtMs: untilMs };
    this.violations = {
      ...before,
      strikes: 0,
      consecutiveBans,
      bannedUntilMs: untilMs,
      lastBan: { sinceMs: nowMs, wentOn: false },
      endsAtMs: untilMs + policy.resetSeconds * 1000,
    };
    return { outcome: 'banned', remainingMs: lengthMs, isNew: true, reason: undefined };
  }
}
