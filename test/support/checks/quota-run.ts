import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect } from 'vitest';
import { anyRev, createCaller } from '../../../gateway/api-keys/api-key-cache.ts';
import type { Limits } from '../../../gateway/plans/limits.ts';
import { formatScriptArgument, type BanPolicy } from '../../../gateway/quota/ban-policy.ts';
import { createQuotaBatch } from '../../../gateway/quota/quota-batch.ts';
import type { QuotaDecision } from '../../../gateway/quota/quota-decision.ts';
import { retryAfter } from '../../../gateway/quota/rate-limit-headers.ts';
import { consumeQuota } from '../../../gateway/quota/redis-quota.ts';
import { readUsage } from '../../../gateway/quota/usage.ts';
import { dayMs, dayNumberOf, utcDate } from '../../../gateway/quota/utc-day.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/redis/redis-keys.ts';
import { aList, QuotaModel, type Expected } from './quota-model.ts';

/** What may happen to one API key. */
type Step =
  | { does: 'request'; rev: 'right' | 'old' | 'any' }
  | { does: 'burst'; requests: number }
  /** Asked again and again, a little less or more than a second apart. */
  | { does: 'hammer'; times: number; everyMs: number }
  | { does: 'outlast ban' }
  /** A request is refused, and repeated once its Retry-After is over. */
  | { does: 'wait as told' }
  | { does: 'advance'; ms: number }
  | { does: 'set limits'; limits: Limits }
  | { does: 'raise rev' }
  | { does: 'change record'; base: 'right' | 'old' }
  | { does: 'ban by hand'; ms: number | undefined }
  | { does: 'lift ban'; forget: boolean }
  | { does: 'report day usage'; requests: number; daysAgo: 0 | 1 }
  | { does: 'edit counter'; window: 'minute' | 'day'; text: string; keepExpiry: boolean }
  | { does: 'edit violations'; field: 'recent' | 'bans' | 'bannedUntil'; text: string }
  | { does: 'replace violations' };

const ms = fc.oneof(
  fc.integer({ min: 1, max: 999 }),
  fc.integer({ min: 1000, max: 3000 }),
  fc.integer({ min: 3000, max: 59_999 }),
  fc.integer({ min: 60_000, max: 200_000 }),
  fc.integer({ min: 1, max: 3 * dayMs }),
);
const limits = fc.record({ minute: fc.integer({ min: 1, max: 8 }), day: fc.integer({ min: 1, max: 40 }) });
const nonsense = fc.constantFrom('', 'x', '-3', '2.5', '1e3', '0x10', 'nan', 'inf', '-inf', ' 7', '007', '0');
const counter = fc.oneof(
  fc.integer({ min: 1, max: 50 }).map(String),
  nonsense,
  fc.constantFrom('1'.repeat(15), '1'.repeat(16), '9'.repeat(18), aList),
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('request' as const),
      rev: fc.constantFrom('right' as const, 'right', 'right', 'any', 'old'),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ does: fc.constant('burst' as const), requests: fc.integer({ min: 2, max: 12 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant('hammer' as const),
      times: fc.integer({ min: 1, max: 6 }),
      everyMs: fc.constantFrom(600, 1100, 1700),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('wait as told' as const) }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constant('outlast ban' as const) }) },
  { weight: 8, arbitrary: fc.record({ does: fc.constant('advance' as const), ms }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('set limits' as const), limits }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('raise rev' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('change record' as const),
      base: fc.constantFrom('right' as const, 'old' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('ban by hand' as const),
      ms: fc.option(fc.integer({ min: 1000, max: 100_000 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('lift ban' as const), forget: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('report day usage' as const),
      requests: fc.integer({ min: 1, max: 20 }),
      daysAgo: fc.constantFrom(0 as const, 1 as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('edit counter' as const),
      window: fc.constantFrom('minute' as const, 'day' as const),
      text: counter,
      keepExpiry: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('edit violations' as const),
      field: fc.constantFrom('recent' as const, 'bans' as const, 'bannedUntil' as const),
      text: nonsense,
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('replace violations' as const) }) },
);

const policy: fc.Arbitrary<BanPolicy> = fc
  .record({
    enabled: fc.constantFrom(true, true, true, true, false),
    violations: fc.integer({ min: 1, max: 4 }),
    windowSeconds: fc.integer({ min: 5, max: 120 }),
    banSeconds: fc.integer({ min: 1, max: 100 }),
    doublings: fc.integer({ min: 0, max: 4 }),
    resetSeconds: fc.integer({ min: 1, max: 7200 }),
  })
  .map(({ doublings, enabled, violations, windowSeconds, banSeconds, resetSeconds }) => {
    // Not a power of two of the first one, so that the longest cuts a doubling short.
    const maxBanSeconds = Math.ceil(banSeconds * 2 ** doublings * 1.25);
    return { enabled, violations, windowSeconds, banSeconds, maxBanSeconds, resetSeconds };
  });

export interface QuotaStory {
  policy: BanPolicy;
  limits: Limits;
  steps: Step[];
}

export const quotaStory: fc.Arbitrary<QuotaStory> = fc.record({
  policy,
  limits,
  steps: fc.array(step, { minLength: 1, maxLength: 50, size: 'max' }),
});

/**
 * Lets time pass for one API key: what is left of each expiry, and each moment that is written down, moves into the
 * past; what would have expired meanwhile is gone. A server's clock can't be set, and this comes to the same.
 */
const letTimePass = `
local passed = tonumber(ARGV[1])
for index = 1, 3 do
  local left = redis.call('PTTL', KEYS[index])
  if left > passed then
    redis.call('PEXPIRE', KEYS[index], left - passed)
  elseif left >= 0 then
    redis.call('DEL', KEYS[index])
  end
end
if redis.call('TYPE', KEYS[3]).ok == 'hash' then
  local earlier = function(digits)
    return string.format('%.0f', math.max(0, tonumber(digits) - passed))
  end
  for _, field in ipairs({ 'recent', 'bannedUntil' }) do
    local text = redis.call('HGET', KEYS[3], field)
    if text and string.find(text, '^[%d,]+$') then
      redis.call('HSET', KEYS[3], field, (string.gsub(text, '%d+', earlier)))
    end
  end
end
-- Today's counter becomes that of the day before; those of days before that are gone by then.
if ARGV[2] ~= '0' then
  if ARGV[2] == '1' and redis.call('EXISTS', KEYS[4]) == 1 then
    redis.call('RENAME', KEYS[4], KEYS[5])
  else
    redis.call('DEL', KEYS[4], KEYS[5])
  end
end
`;

/** Between the clock of the script and that of an expiry, which are read one after another. */
const toleranceMs = 200;
/** No request is made closer than this to a moment at which its answer changes. */
const clearanceMs = 250;
/** One that was decided on later than this after it had been looked for such a moment shows nothing. */
const stallMs = 150;

/** The machine was too busy for the story to be told. Nothing is wrong with it. */
class Stalled extends Error {}

/** Tells a story to Redis and to the model, and fails where they disagree. To be used within a property. */
export async function tellStory(redis: RedisClient, story: QuotaStory): Promise<void> {
  const { policy, steps } = story;
  const keyHash = randomBytes(32).toString('hex');
  const [recordKey, minuteKey, banKey, violationsKey] = [
    redisKeys.apiKey(keyHash),
    redisKeys.minute(keyHash),
    redisKeys.ban(keyHash),
    redisKeys.violations(keyHash),
  ];
  /** What has no expiry because somebody took it away. */
  const edited = new Set([recordKey]);
  const model = new QuotaModel(policy);
  let limits = story.limits;
  /** How far the key's own time is ahead of the server's. */
  let aheadMs = 0;
  /** How many midnights have passed in it. */
  let midnights = 0;
  const serverMs = async () => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  };
  /** Days of the model, which goes on where Redis only ever knows today. */
  const dayOf = (serverNowMs: number) => dayNumberOf(serverNowMs) + midnights;
  const dayKey = (serverNowMs: number, daysAgo = 0) =>
    redisKeys.day(keyHash, utcDate(dayNumberOf(serverNowMs) - daysAgo));

  async function pass(passedMs: number): Promise<void> {
    const nowMs = await serverMs();
    const crossed = dayNumberOf(nowMs + aheadMs + passedMs) - dayNumberOf(nowMs + aheadMs);
    const keys = [minuteKey, banKey, violationsKey, dayKey(nowMs), dayKey(nowMs, 1)];
    await redis.eval(letTimePass, keys.length, ...keys, passedMs, Math.min(crossed, 2));
    aheadMs += passedMs;
    midnights += crossed;
  }

  let clearAtMs = 0;

  async function keepClear(): Promise<void> {
    const isClose = (nowMs: number) =>
      model.turningPoints().some((atMs) => Math.abs(atMs - nowMs) < clearanceMs);
    clearAtMs = await serverMs();
    while (isClose(clearAtMs + aheadMs)) {
      await pass(clearanceMs);
      clearAtMs = await serverMs();
    }
  }

  function assertNoStall(serverNowMs: number): void {
    if (serverNowMs - clearAtMs > stallMs) throw new Stalled();
  }

  // Without a time limit: a machine that is busy is no outage here.
  const batch = createQuotaBatch({ redis, gate: { open: true, outages: 0, send: (command) => command() } });

  const consume = (rev: number) => {
    const record = { id: 'k', name: '', plan: 'p', hint: '', createdAt: '', rev };
    return consumeQuota(batch, createCaller(record, keyHash), limits, formatScriptArgument(policy));
  };

  function compare(decision: QuotaDecision, rev: number): void {
    const nowMs = decision.outcome === 'stale' ? 0 : decision.nowMs;
    assertNoStall(nowMs);
    const known = rev === anyRev ? undefined : rev;
    const expected = model.request(nowMs + aheadMs, dayOf(nowMs), limits, known);
    expect(withoutTimes(decision)).toEqual(inWords(expected, limits, nowMs));
    for (const [actual, wanted] of times(decision, expected, nowMs)) {
      expect(Math.abs(actual - wanted), `${actual} ms instead of ${wanted}`).toBeLessThan(toleranceMs);
    }
  }

  async function request(rev = model.rev): Promise<QuotaDecision> {
    await keepClear();
    const decision = await consume(rev);
    compare(decision, rev);
    return decision;
  }

  async function burst(requests: number): Promise<void> {
    await keepClear();
    const decisions = await Promise.all(Array.from({ length: requests }, () => consume(model.rev)));
    for (const decision of decisions) compare(decision, model.rev);
  }

  async function waitAsTold(): Promise<void> {
    const decision = await request();
    if (decision.outcome !== 'limited') return;
    // With the day used up as well, only midnight helps.
    if (decision.violated === 'minute' && decision.day.remaining === 0) return;
    const seconds = Number(retryAfter(decision[decision.violated].resetMs)['Retry-After']);
    const midnightMs = dayMs - ((decision.nowMs + aheadMs) % dayMs);
    await pass(decision.violated === 'minute' ? seconds * 1000 : midnightMs);
    // At the very moment at which the window ends, or just after it: the one side that is promised.
    clearAtMs = await serverMs();
    const again = await consume(model.rev);
    compare(again, model.rev);
    expect(again.outcome).toBe('allowed');
  }

  async function changeRecord(base: number): Promise<void> {
    const before = await redis.hgetall(recordKey);
    const changed = await redis.changeRecord(recordKey, base, '', 3600, 'name', `based on ${base}`);
    const isCurrent = base === model.rev;
    if (isCurrent) model.rev += 1;
    expect(changed).toBe(isCurrent ? model.rev : 0);
    const change = isCurrent ? { name: `based on ${base}`, rev: String(model.rev) } : {};
    expect(await redis.hgetall(recordKey)).toEqual({ ...before, ...change });
  }

  async function reportDayUsage(requests: number, daysAgo: number): Promise<void> {
    const nowMs = await serverMs();
    const reportKey = redisKeys.dayReport(keyHash, randomBytes(8).toString('hex'));
    const report = () =>
      redis.addDayUsage(
        dayKey(nowMs, daysAgo),
        reportKey,
        requests,
        (dayNumberOf(nowMs) - daysAgo + 2) * (dayMs / 1000),
      );
    if (model.addToDay(dayOf(nowMs) - daysAgo, requests)) {
      expect(await report()).toBe(1);
      // Sent again, since its answer was lost.
      expect(await report()).toBe(0);
    } else {
      await expect(report()).rejects.toThrow(/not an integer|WRONGTYPE/);
    }
  }

  async function editCounter(window: 'minute' | 'day', text: string, keepExpiry: boolean): Promise<void> {
    await keepClear();
    const nowMs = await serverMs();
    const key = window === 'minute' ? minuteKey : dayKey(nowMs);
    const open = (model.minute?.endsAtMs ?? 0) > nowMs + aheadMs ? model.minute?.endsAtMs : undefined;
    edited.add(key).add(dayKey(nowMs, 1));
    if (text === aList) {
      await redis.del(key);
      await redis.rpush(key, 'x');
    } else {
      await redis.call('SET', key, text, ...(keepExpiry ? ['KEEPTTL'] : []));
    }
    assertNoStall(await serverMs());
    if (window === 'minute') {
      model.minute = { text, endsAtMs: keepExpiry && text !== aList ? open : undefined };
    } else {
      model.days.set(dayOf(nowMs), text);
    }
  }

  async function editViolations(field: 'recent' | 'bans' | 'bannedUntil', text: string): Promise<void> {
    await keepClear();
    // Digits in it would be moments.
    const written = field === 'recent' ? text.replaceAll(/\d/g, '') : text;
    edited.add(violationsKey);
    if ((await redis.type(violationsKey)) === 'string') await redis.del(violationsKey);
    await redis.hset(violationsKey, field, written);
    if (field === 'recent') model.refusals = [];
    else model.bansInRow = 0;
    if (field === 'bannedUntil') model.lastBanEndsAtMs = Number.NEGATIVE_INFINITY;
  }

  async function take(step: Step): Promise<void> {
    switch (step.does) {
      case 'request':
        await request({ right: model.rev, old: model.rev - 1, any: anyRev }[step.rev]);
        return;
      case 'burst':
        return burst(step.requests);
      case 'hammer':
        for (let time = 0; time < step.times; time += 1) {
          await request();
          await pass(step.everyMs);
        }
        return;
      case 'wait as told':
        return waitAsTold();
      case 'outlast ban':
        return pass(Math.max(1, Math.ceil((model.ban?.endsAtMs ?? 0) - (await serverMs()) - aheadMs)));
      case 'advance':
        return pass(step.ms);
      case 'set limits':
        ({ limits } = step);
        return;
      case 'raise rev':
        model.rev += 1;
        await redis.hincrby(recordKey, 'rev', 1);
        return;
      case 'change record':
        return changeRecord(step.base === 'right' ? model.rev : model.rev - 1);
      case 'ban by hand':
        if (step.ms === undefined) edited.add(banKey);
        clearAtMs = await serverMs();
        await redis.call('SET', banKey, 'by-hand', ...(step.ms === undefined ? [] : ['PX', step.ms]));
        assertNoStall(await serverMs());
        model.ban = { endsAtMs: step.ms === undefined ? undefined : clearAtMs + aheadMs + step.ms };
        return;
      case 'lift ban':
        await redis.del(banKey, ...(step.forget ? [violationsKey] : []));
        model.ban = undefined;
        if (step.forget) model.forgetRefusals();
        return;
      case 'report day usage':
        return reportDayUsage(step.requests, step.daysAgo);
      case 'edit counter':
        return editCounter(step.window, step.text, step.keepExpiry);
      case 'edit violations':
        return editViolations(step.field, step.text);
      case 'replace violations':
        edited.add(violationsKey);
        await redis.set(violationsKey, 'not a hash');
        model.forgetRefusals();
        return;
    }
  }

  async function compareUsage(): Promise<void> {
    await keepClear();
    const usage = await readUsage(redis, { keyHash, rev: model.rev, limits, banPolicy: policy });
    expect(usage).toBeDefined();
    if (usage === undefined) return;
    const { nowMs, minute, day } = usage;
    assertNoStall(nowMs);
    const expected = model.usage(nowMs + aheadMs, dayOf(nowMs));
    const { minuteUsed, dayUsed, violations } = expected;
    expect({
      minuteUsed: minute.used,
      dayUsed: day.used,
      violations: usage.violations,
    }).toEqual({ minuteUsed, dayUsed, violations });
    expect(Math.abs(minute.resetMs - expected.minuteLeftMs)).toBeLessThan(toleranceMs);
    expect(Math.abs(usage.banMs - expected.banMs)).toBeLessThan(toleranceMs);
  }

  await redis.hset(recordKey, { id: 'k', plan: 'p', rev: String(model.rev) });
  for (const [index, step] of steps.entries()) {
    try {
      await take(step);
      await compareUsage();
    } catch (error) {
      if (error instanceof Stalled) fc.pre(false);
      throw new Error(`step ${index} (${JSON.stringify(step)}): ${String(error)}`, { cause: error });
    }
  }
  for (const key of await redis.keys(`*${keyHash}*`)) {
    // One that has none is told by -1; one that ends in this very moment by 0 or -2.
    if (!edited.has(key)) expect(await redis.pttl(key), `${key} never expires`).not.toBe(-1);
  }
  await redis.del(recordKey);
}

/** All of a decision but what depends on the clock. */
function withoutTimes(decision: QuotaDecision): object {
  switch (decision.outcome) {
    case 'stale':
      return { outcome: 'stale' };
    case 'banned':
      return { outcome: 'banned', limits: decision.limits, isNew: decision.isNew };
    case 'allowed':
    case 'limited': {
      const { minute, day } = decision;
      return {
        outcome: decision.outcome,
        minute: { limit: minute.limit, remaining: minute.remaining },
        day: { limit: day.limit, remaining: day.remaining },
        ...(decision.outcome === 'limited' ? { violated: decision.violated } : {}),
      };
    }
  }
}

function inWords(expected: Expected, limits: Limits, nowMs: number): object {
  switch (expected.outcome) {
    case 'stale':
      return { outcome: 'stale' };
    case 'banned':
      return { outcome: 'banned', limits, isNew: expected.isNew };
    case 'allowed':
    case 'limited': {
      const { outcome, minuteUsed, minuteLeftMs, dayUsed } = expected;
      const minute = { limit: limits.minute, remaining: Math.max(0, limits.minute - minuteUsed) };
      const day = { limit: limits.day, remaining: Math.max(0, limits.day - dayUsed) };
      const minuteEndsLast = minuteLeftMs > dayMs - (nowMs % dayMs);
      const isMinute = day.remaining > 0 || (minute.remaining === 0 && minuteEndsLast);
      const violated = isMinute ? 'minute' : 'day';
      return { outcome, minute, day, ...(outcome === 'limited' ? { violated } : {}) };
    }
  }
}

/** What depends on the clock, as pairs of what was answered and what should have been. */
function times(decision: QuotaDecision, expected: Expected, nowMs: number): [number, number][] {
  if (decision.outcome === 'stale' || expected.outcome === 'stale') return [];
  if (decision.outcome === 'banned') {
    return expected.outcome === 'banned' ? [[decision.remainingMs, expected.remainingMs]] : [];
  }
  return expected.outcome === 'banned'
    ? []
    : [
        [decision.minute.resetMs, expected.minuteLeftMs],
        [decision.day.resetMs, dayMs - (nowMs % dayMs)],
      ];
}
