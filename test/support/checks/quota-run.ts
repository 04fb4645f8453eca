import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { recordChangeCall } from '../../../gateway/control/record-change-call.ts';
import { anyRev, createCaller } from '../../../gateway/keys/api-key-cache.ts';
import { dayMs, dayNumberOf, utcDate, type ByWindow } from '../../../gateway/limits/windows.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../../gateway/platform/redis/redis-keys.ts';
import type { BanPolicy } from '../../../gateway/quota/policies.ts';
import type { QuotaDecision } from '../../../gateway/quota/quota-decision.ts';
import { retryAfter } from '../../../gateway/quota/rate-limit-headers.ts';
import { consumeQuota } from '../../../gateway/quota/redis-quota.ts';
import { readUsage, readUsageDays } from '../../../gateway/quota/usage.ts';
import { createOpenBatch } from '../kits/quota-batch.ts';
import { QuotaModel, type Expected, type ModelLimits } from './quota-model.ts';
import { createSimulatedTime } from './simulated-time.ts';
import { stepOf } from './steps.ts';

/** A step of a scenario for a customer with two API keys. */
type Step =
  | { does: 'request'; rev: 'current' | 'stale' | 'any'; cost: number }
  | { does: 'burst'; requests: number; cost: number }
  /** Requests slightly less or more than a second apart. */
  | { does: 'send repeatedly'; times: number; everyMs: number }
  /** From now on the other key sends the requests. */
  | { does: 'switch key' }
  | { does: 'wait for end of ban' }
  /** A request that is retried after its Retry-After if it is refused. */
  | { does: 'heed Retry-After' }
  | { does: 'advance'; ms: number }
  | { does: 'set limits'; limits: ModelLimits }
  | { does: 'raise rev' }
  | { does: 'change record'; base: 'current' | 'stale' }
  | { does: 'ban with a reason'; ms: number }
  | { does: 'lift ban'; clearViolations: boolean }
  | { does: 'set clock back'; ms: number }
  | { does: 'report day usage'; requests: number; daysAgo: 0 | 1 }
  | { does: 'edit counter'; window: 'minute' | 'day'; text: string; keepExpiry: boolean }
  | { does: 'edit violations'; field: ViolationsField; text: string };

/** What a field of Redis' record that holds no number counts as in the model. */
const unreadable = {
  refusedSince: { refusedSinceMs: undefined },
  lastAllowed: { lastAllowed: undefined },
  strikes: { strikes: 0 },
  strikesSince: { strikesSinceMs: 0 },
  bans: { consecutiveBans: 0 },
  bannedUntil: { bannedUntilMs: 0 },
  wentOn: {},
} satisfies Record<string, object>;
type ViolationsField = keyof typeof unreadable;

const ms = fc.oneof(
  fc.integer({ min: 1, max: 999 }),
  fc.integer({ min: 1000, max: 3000 }),
  fc.integer({ min: 3000, max: 59_999 }),
  fc.integer({ min: 60_000, max: 200_000 }),
  fc.integer({ min: 1, max: 3 * dayMs }),
);
const limits = fc.record({ minute: fc.integer({ min: 1, max: 8 }), day: fc.integer({ min: 1, max: 40 }) });
const invalidNumber = fc.constantFrom(...',x,-3,2.5,1e3,0x10,nan,inf,-inf, 7,007,0'.split(','));
const counterText = fc.oneof(
  fc.integer({ min: 1, max: 50 }).map(String),
  invalidNumber,
  fc.constantFrom('1'.repeat(15), '1'.repeat(16), '9'.repeat(18)),
);

const cost = fc.constantFrom(1, 1, 1, 1, 2, 3, 9);

const step: fc.Arbitrary<Step> = fc.oneof(
  stepOf(8, 'request', {
    rev: fc.constantFrom('current' as const, 'current', 'current', 'any', 'stale'),
    cost,
  }),
  stepOf(6, 'burst', { requests: fc.integer({ min: 2, max: 12 }), cost }),
  stepOf(5, 'send repeatedly', {
    times: fc.integer({ min: 1, max: 6 }),
    everyMs: fc.constantFrom(600, 1100, 1700),
  }),
  stepOf(3, 'heed Retry-After'),
  stepOf(3, 'switch key'),
  stepOf(5, 'wait for end of ban'),
  stepOf(8, 'advance', { ms }),
  stepOf(2, 'set limits', { limits }),
  stepOf(1, 'raise rev'),
  stepOf(1, 'change record', { base: fc.constantFrom('current' as const, 'stale' as const) }),
  stepOf(1, 'ban with a reason', { ms: fc.integer({ min: 1000, max: 100_000 }) }),
  stepOf(1, 'set clock back', { ms: fc.integer({ min: 1000, max: 7_200_000 }) }),
  stepOf(1, 'lift ban', { clearViolations: fc.boolean() }),
  stepOf(1, 'report day usage', {
    requests: fc.integer({ min: 1, max: 20 }),
    daysAgo: fc.constantFrom(0 as const, 1 as const),
  }),
  stepOf(2, 'edit counter', {
    window: fc.constantFrom('minute' as const, 'day' as const),
    text: counterText,
    keepExpiry: fc.boolean(),
  }),
  stepOf(1, 'edit violations', {
    field: fc.constantFrom(...(Object.keys(unreadable) as ViolationsField[])),
    text: invalidNumber,
  }),
);

const policy: fc.Arbitrary<BanPolicy> = fc
  .record({
    enabled: fc.constantFrom(true, true, true, true, false),
    graceSeconds: fc.constantFrom(0, 0, 1, 2, 5),
    strikes: fc.integer({ min: 1, max: 4 }),
    strikesPerLimit: fc.constantFrom(0, 0.5, 1),
    windowSeconds: fc.integer({ min: 5, max: 120 }),
    banSeconds: fc.integer({ min: 1, max: 100 }),
    doublings: fc.integer({ min: 0, max: 4 }),
    resetSeconds: fc.integer({ min: 1, max: 7200 }),
  })
  .map(({ doublings, ...policy }) =>
    // Not the first length times a power of two, so that the maximum cuts a doubling short.
    Object.assign(policy, { maxBanSeconds: Math.ceil(policy.banSeconds * 2 ** doublings * 1.25) }),
  );

export interface QuotaScenario {
  policy: BanPolicy;
  limits: ModelLimits;
  steps: Step[];
}

export const quotaScenario: fc.Arbitrary<QuotaScenario> = fc.record({
  policy,
  limits,
  steps: fc.array(step, { minLength: 1, maxLength: 50, size: 'max' }),
});

/** The script reads its clock and an expiry one after the other. */
const toleranceMs = 200;
/** Minimum distance between a request and a time at which the decision changes. */
const clearanceMs = 250;
/** Maximum time between that check and the decision. Any later decision proves nothing. */
const stallMs = 150;

/** The machine was too busy to run the scenario, which is then discarded. */
class Stalled extends Error {}

/** Runs a scenario on Redis and on the model, and fails if they disagree. For use in a property. */
export async function runQuotaScenario(redis: RedisClient, scenario: QuotaScenario): Promise<void> {
  const { policy, steps } = scenario;
  const keyHashes = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('hex')) as [
    string,
    string,
  ];
  const customerId: CustomerId = `cus_${keyHashes[0].slice(0, 18)}`;
  let place = { customerId, keyHash: keyHashes[0] };
  const [recordKey, minuteKey] = [redisKeys.customer(customerId), redisKeys.openWindow(customerId, 'minute')];
  let [banKey, strikesKey] = [redisKeys.ban(place), redisKeys.strikes(place)];
  /** Redis keys that may lack an expiry, because the scenario edited them. */
  const edited = new Set([recordKey]);
  const model = new QuotaModel(policy);
  let limits = scenario.limits;
  /** That of the first key moves what is the customer's, too. */
  const simulated = [
    createSimulatedTime(redis, place),
    createSimulatedTime(redis, { customerId, keyHash: keyHashes[1] }, `${customerId}-none`),
  ] as const;
  /** Difference between the time of the scenario and that of the server. */
  let aheadMs = 0;
  /** Number of midnights that have passed in the scenario. */
  let midnights = 0;
  const [{ serverMs }] = simulated;
  /** Day of the model, which advances with the scenario. In Redis it is always today. */
  const modelDay = (serverNowMs: number) => dayNumberOf(serverNowMs) + midnights;
  const monthOf = (day: number) => redisKeys.usageMonth(customerId, utcDate(day).slice(0, 6));

  async function advance(passedMs: number): Promise<void> {
    const nowMs = await serverMs();
    const crossed = dayNumberOf(nowMs + aheadMs + passedMs) - dayNumberOf(nowMs + aheadMs);
    for (const time of simulated) {
      await time.moveTimes(passedMs);
      await time.passMidnights(crossed);
    }
    aheadMs += passedMs;
    midnights += crossed;
  }

  let checkedAtMs = 0;

  async function avoidTransitions(): Promise<void> {
    const isClose = (nowMs: number) =>
      model.transitionTimes().some((atMs) => Math.abs(atMs - nowMs) < clearanceMs);
    checkedAtMs = await serverMs();
    while (isClose(checkedAtMs + aheadMs)) {
      await advance(clearanceMs);
      checkedAtMs = await serverMs();
    }
  }

  function assertNoStall(serverNowMs: number): void {
    if (serverNowMs - checkedAtMs > stallMs) throw new Stalled();
  }

  const batch = createOpenBatch(redis, policy);

  const consume = (rev: number, cost: number): Promise<QuotaDecision> => {
    const record = { id: 'k', customerId, name: '', plan: 'p', hint: '', createdAt: '', rev };
    return consumeQuota(batch, { caller: createCaller(record, place.keyHash), limits, cost });
  };

  function compare(decision: QuotaDecision, rev: number, cost: number): void {
    const nowMs = decision.outcome === 'stale' ? 0 : decision.nowMs;
    assertNoStall(nowMs);
    const known = rev === anyRev ? undefined : rev;
    const expected = model.request(nowMs + aheadMs, modelDay(nowMs), limits, known, cost);
    expect(withoutTimes(decision)).toEqual(expectedDecision(expected, limits, nowMs, cost));
    for (const [actual, wanted] of timePairs(decision, expected, nowMs)) {
      expect(Math.abs(actual - wanted), `${actual} ms instead of ${wanted}`).toBeLessThan(toleranceMs);
    }
  }

  async function request(rev = model.rev, cost = 1): Promise<QuotaDecision> {
    await avoidTransitions();
    const decision = await consume(rev, cost);
    compare(decision, rev, cost);
    return decision;
  }

  async function burst(requests: number, cost: number): Promise<void> {
    await avoidTransitions();
    const all = await Promise.all(Array.from({ length: requests }, () => consume(model.rev, cost)));
    for (const decision of all) compare(decision, model.rev, cost);
  }

  async function heedRetryAfter(): Promise<void> {
    const decision = await request();
    if (decision.outcome !== 'limited') return;
    // If the day is used up as well, the request is still refused after the minute.
    if (decision.violated === 'minute' && modelWindows(decision.windows).day.remaining === 0) return;
    const violated = decision.windows[decision.violated]?.resetMs ?? 0;
    const seconds = Number(retryAfter(violated)['Retry-After']);
    const midnightMs = dayMs - ((decision.nowMs + aheadMs) % dayMs);
    await advance(decision.violated === 'minute' ? seconds * 1000 : midnightMs);
    // No avoidTransitions(): a request at the exact end of the window has to be allowed.
    checkedAtMs = await serverMs();
    const again = await consume(model.rev, 1);
    compare(again, model.rev, 1);
    expect(again.outcome).toBe('allowed');
  }

  async function changeRecord(base: number): Promise<void> {
    const before = await redis.hgetall(recordKey);
    const beforeMs = await serverMs();
    const customer = { name: `based on ${base}` };
    const { keys, args } = recordChangeCall({ customerId, rev: base, customer });
    const changed = await redis.changeRecord(keys.length, ...keys, ...args);
    const isCurrent = base === model.rev;
    if (isCurrent) {
      expect(changed).toBeGreaterThanOrEqual(Math.max(model.rev + 1, beforeMs));
      expect(changed).toBeLessThanOrEqual(Math.max(model.rev + 1, await serverMs()));
      model.rev = changed;
    } else expect(changed).toBe(0);
    const change = isCurrent ? { name: `based on ${base}`, rev: String(model.rev) } : {};
    expect(await redis.hgetall(recordKey)).toEqual({ ...before, ...change });
  }

  async function reportDayUsage(requests: number, daysAgo: number): Promise<void> {
    const nowMs = await serverMs();
    const reportKey = redisKeys.dayReport(customerId, randomBytes(8).toString('hex'));
    const day = dayNumberOf(nowMs) - daysAgo;
    const report = () =>
      redis.addUsage(reportKey, redisKeys.usagePrefix(customerId), 1, day, requests, 0, 400);
    model.addToDay(modelDay(nowMs) - daysAgo, requests, monthOf(day) === monthOf(day + daysAgo));
    expect(await report()).toBe(1);
    // A report is sent again if its reply was lost.
    expect(await report()).toBe(0);
  }

  async function editCounter(window: 'minute' | 'day', text: string, keepExpiry: boolean): Promise<void> {
    await avoidTransitions();
    const nowMs = await serverMs();
    if (window === 'minute') {
      const open = (model.minute?.endsAtMs ?? 0) > nowMs + aheadMs ? model.minute?.endsAtMs : undefined;
      edited.add(minuteKey);
      await redis.call('SET', minuteKey, text, ...(keepExpiry ? ['KEEPTTL'] : []));
      model.minute = { text, endsAtMs: keepExpiry ? open : undefined };
    } else {
      const today = dayNumberOf(nowMs);
      edited.add(monthOf(today)).add(monthOf(today - 1));
      await redis.hset(monthOf(today), utcDate(today).slice(6), text);
      model.days.set(modelDay(nowMs), text);
    }
    assertNoStall(await serverMs());
  }

  async function editViolations(field: ViolationsField, text: string): Promise<void> {
    await avoidTransitions();
    edited.add(strikesKey);
    await redis.hset(strikesKey, field, text);
    const nowMs = await serverMs();
    assertNoStall(nowMs);
    const violations = model.keptViolations(nowMs + aheadMs);
    model.violations = violations;
    Object.assign(violations, unreadable[field]);
    if (field === 'wentOn' && violations.lastBan !== undefined) violations.lastBan.wentOn = false;
  }

  async function runStep(step: Step): Promise<void> {
    switch (step.does) {
      case 'request':
        await request({ current: model.rev, stale: model.rev - 1, any: anyRev }[step.rev], step.cost);
        return;
      case 'burst':
        return burst(step.requests, step.cost);
      case 'send repeatedly':
        for (let time = 0; time < step.times; time += 1) {
          await request();
          await advance(step.everyMs);
        }
        return;
      case 'switch key': {
        const [first, second] = keyHashes;
        place = { customerId, keyHash: place.keyHash === first ? second : first };
        [banKey, strikesKey] = [redisKeys.ban(place), redisKeys.strikes(place)];
        model.switchKey();
        return;
      }
      case 'heed Retry-After':
        return heedRetryAfter();
      case 'wait for end of ban':
        return advance(Math.max(1, Math.ceil((model.ban?.endsAtMs ?? 0) - (await serverMs()) - aheadMs)));
      case 'advance':
        return advance(step.ms);
      case 'set limits':
        ({ limits } = step);
        return;
      case 'raise rev':
        model.rev += 1;
        await redis.hincrby(recordKey, 'rev', 1);
        return;
      case 'change record':
        return changeRecord(step.base === 'current' ? model.rev : model.rev - 1);
      case 'ban with a reason':
        await avoidTransitions();
        await redis.setBan(banKey, 'flood', step.ms);
        assertNoStall(await serverMs());
        model.ban = { endsAtMs: checkedAtMs + aheadMs + step.ms, reason: 'flood' };
        return;
      case 'set clock back':
        await avoidTransitions();
        for (const time of simulated) await time.moveTimes(-step.ms);
        assertNoStall(await serverMs());
        model.setClockBack(checkedAtMs + aheadMs, step.ms);
        return;
      case 'lift ban':
        await redis.del(banKey, ...(step.clearViolations ? [strikesKey] : []));
        model.ban = undefined;
        if (step.clearViolations) model.violations = undefined;
        return;
      case 'report day usage':
        return reportDayUsage(step.requests, step.daysAgo);
      case 'edit counter':
        return editCounter(step.window, step.text, step.keepExpiry);
      case 'edit violations':
        return editViolations(step.field, step.text);
    }
  }

  async function compareUsage(): Promise<void> {
    await avoidTransitions();
    const usage = await readUsage(redis, { place, rev: model.rev, limits, banPolicy: policy });
    expect(usage).toBeDefined();
    if (usage === undefined) return;
    const { nowMs } = usage;
    const { minute, day } = modelWindows(usage.windows);
    assertNoStall(nowMs);
    const expected = model.usage(nowMs + aheadMs, modelDay(nowMs));
    const { minuteUsed, dayUsage, strikes } = expected;
    expect({ minuteUsed: minute.used, dayUsage: day.used, strikes: usage.strikes }).toEqual({
      minuteUsed,
      dayUsage,
      strikes,
    });
    const today = dayNumberOf(nowMs);
    const days = await readUsageDays(redis, customerId, { first: today - 1, last: today, oldest: 0 });
    expect(days.map(({ served }) => served)).toEqual(
      [-1, 0].map((ago) => model.servedOn(modelDay(nowMs) + ago)),
    );
    expect(days.map(({ served, units = served }) => units)).toEqual(
      [-1, 0].map((ago) => model.unitsOn(modelDay(nowMs) + ago)),
    );
    expect(Math.abs(minute.resetMs - expected.minuteLeftMs)).toBeLessThan(toleranceMs);
    expect(Math.abs(usage.banMs - expected.banMs)).toBeLessThan(toleranceMs);
  }

  await redis.hset(recordKey, { id: 'k', plan: 'p', rev: String(model.rev) });
  for (const [index, step] of steps.entries()) {
    try {
      await runStep(step);
      await compareUsage();
    } catch (error) {
      if (error instanceof Stalled) fc.pre(false);
      throw new Error(`step ${index} (${JSON.stringify(step)}): ${String(error)}`, { cause: error });
    }
  }
  for (const key of await redis.keys(`*{${customerId}}*`)) {
    // -1 means no expiry; 0 or -2 means that the key expires at this moment.
    if (!edited.has(key)) expect(await redis.pttl(key), `${key} never expires`).not.toBe(-1);
  }
  await redis.del(recordKey);
}

/** The decision without the values that depend on the clock. */
function withoutTimes(decision: QuotaDecision): object {
  switch (decision.outcome) {
    case 'stale':
      return { outcome: 'stale' };
    case 'banned':
      return { outcome: 'banned', limits: decision.limits, isNew: decision.isNew, reason: decision.reason };
    case 'allowed':
    case 'limited': {
      const { minute, day } = modelWindows(decision.windows);
      return {
        outcome: decision.outcome,
        minute: { limit: minute.limit, remaining: minute.remaining },
        day: { limit: day.limit, remaining: day.remaining },
        ...(decision.outcome === 'limited' ? { violated: decision.violated } : {}),
      };
    }
  }
}

function modelWindows<State>({ minute, day }: ByWindow<State>): Record<'minute' | 'day', State> {
  if (minute === undefined || day === undefined) throw new Error('a window is missing');
  return { minute, day };
}

function expectedDecision(expected: Expected, limits: ModelLimits, nowMs: number, units: number): object {
  switch (expected.outcome) {
    case 'stale':
      return { outcome: 'stale' };
    case 'banned':
      return { outcome: 'banned', limits, isNew: expected.isNew, reason: expected.reason };
    case 'allowed':
    case 'limited': {
      const { outcome, minuteUsed, minuteLeftMs, dayUsage } = expected;
      const minute = { limit: limits.minute, remaining: Math.max(0, limits.minute - minuteUsed) };
      const day = { limit: limits.day, remaining: Math.max(0, limits.day - dayUsage) };
      const minuteEndsLast = minuteLeftMs > dayMs - (nowMs % dayMs);
      const isMinute = day.remaining >= units || (minute.remaining < units && minuteEndsLast);
      const violated = isMinute ? 'minute' : 'day';
      return { outcome, minute, day, ...(outcome === 'limited' ? { violated } : {}) };
    }
  }
}

/** The values that depend on the clock, as pairs of actual and expected. */
function timePairs(decision: QuotaDecision, expected: Expected, nowMs: number): [number, number][] {
  if (decision.outcome === 'stale' || expected.outcome === 'stale') return [];
  if (decision.outcome === 'banned') {
    return expected.outcome === 'banned' ? [[decision.remainingMs, expected.remainingMs]] : [];
  }
  return expected.outcome === 'banned'
    ? []
    : [
        [modelWindows(decision.windows).minute.resetMs, expected.minuteLeftMs],
        [modelWindows(decision.windows).day.resetMs, dayMs - (nowMs % dayMs)],
      ];
}
