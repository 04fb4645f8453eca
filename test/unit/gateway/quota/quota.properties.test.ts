import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxLimit, parseLimit } from '../../../../gateway/limits/limits.ts';
import { alignedLeftMs, dayMs } from '../../../../gateway/limits/windows.ts';
import { textFields } from '../../../../gateway/platform/redis/settings.ts';
import { banPolicySetting, type BanPolicy } from '../../../../gateway/quota/policies.ts';
import { decisionOf } from '../../../../gateway/quota/quota-decision.ts';
import { rateLimitHeaders, retryAfter } from '../../../../gateway/quota/rate-limit-headers.ts';
import { formatPolicies } from '../../../../gateway/quota/redis-quota.ts';

const limit = fc.integer({ min: 1, max: maxLimit });
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer().map(String),
  fc.double().map(String),
  fc.bigInt().map(String),
);

describe('a limit', () => {
  test('is parsed from its decimal text', () => {
    fc.assert(
      fc.property(limit, (number) => {
        expect(parseLimit(String(number))).toBe(number);
      }),
    );
  });

  test('has exactly one notation and stays within its bounds', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parsed = parseLimit(text);
        if (parsed === undefined) return;
        expect(String(parsed)).toBe(text);
        expect(parsed).toBeGreaterThanOrEqual(1);
        expect(parsed).toBeLessThanOrEqual(maxLimit);
      }),
      { numRuns: 1000 },
    );
    expect(parseLimit('')).toBeUndefined();
  });
});

describe('a ban policy', () => {
  const text = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 3000 }).map(String) }, anyText);
  const fields = fc.record(
    {
      enabled: fc.oneof(fc.constantFrom('true', 'false'), fc.string()),
      graceSeconds: text,
      strikes: text,
      strikesPerLimit: fc.oneof(fc.constantFrom('0', '1.5', '1e3', '.5', '-1'), text),
      windowSeconds: text,
      banSeconds: text,
      maxBanSeconds: text,
      resetSeconds: text,
      other: text,
    } satisfies Record<keyof BanPolicy | 'other', fc.Arbitrary<string>>,
    { requiredKeys: [] },
  );

  test('takes each number only as it may be written: whole, or with up to three decimals', () => {
    const texts = textFields(banPolicySetting.defaults);
    const accepts = (field: keyof BanPolicy, text: string) =>
      banPolicySetting.fields.safeParse({ ...texts, [field]: text }).success;
    const accepted = (field: keyof BanPolicy, texts: string[]) =>
      texts.filter((text) => accepts(field, text));
    expect(accepted('graceSeconds', ['5.0', '05', '+5', ' 5', '5e0', 'true', ''])).toEqual([]);
    const decimals = ['1.50', '5.0', '007', '0.125'];
    expect(accepted('strikesPerLimit', [...decimals, '1.2345', '.5', '1e1', '', 'true'])).toEqual(decimals);
    expect(accepted('enabled', ['1', '0', 'TRUE', ''])).toEqual([]);
  });

  test('that is accepted can be enforced, for any fields in Redis', () => {
    fc.assert(
      fc.property(fields, (written) => {
        const parsed = banPolicySetting.fields.safeParse(written);
        if (!parsed.success) {
          expect(parsed.error.issues).not.toEqual([]);
          return;
        }
        const { graceSeconds, strikesPerLimit, ...policy } = parsed.data;
        const { strikes, windowSeconds, banSeconds, maxBanSeconds, resetSeconds } = policy;
        for (const number of [strikes, windowSeconds, banSeconds, maxBanSeconds, resetSeconds]) {
          expect(Number.isSafeInteger(number) && number >= 1 && number <= 30 * 86_400).toBe(true);
        }
        expect(graceSeconds >= 0 && strikesPerLimit >= 0 && strikesPerLimit <= 1000).toBe(true);
        expect(formatPolicies(parsed.data).join(' ')).toMatch(/^\d+ [\d.]+( \d+){6}$/);
        expect(maxBanSeconds).toBeGreaterThanOrEqual(banSeconds);
      }),
      { numRuns: 2000 },
    );
  });

  test('survives writing and reading', () => {
    const number = fc.integer({ min: 1, max: 1000 });
    const policy: fc.Arbitrary<BanPolicy> = fc
      .tuple(fc.boolean(), number, number, number, number, number)
      .map(([enabled, strikes, windowSeconds, one, other, resetSeconds]) => ({
        enabled,
        graceSeconds: windowSeconds,
        strikes,
        strikesPerLimit: strikes / 4,
        windowSeconds,
        banSeconds: Math.min(one, other),
        maxBanSeconds: Math.max(one, other),
        resetSeconds,
      }));
    fc.assert(
      fc.property(policy, (original) => {
        expect(banPolicySetting.fields.parse(textFields(original))).toEqual(original);
      }),
    );
  });
});

describe('the rate limit headers', () => {
  const nowMs = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2100, 0) });
  const limits = fc.record({ minute: limit, day: limit });
  const use = fc.record({
    minuteUsed: fc.nat({ max: 2 * maxLimit }),
    minuteLeftMs: fc.integer({ min: 1, max: 60_000 }),
    dayUsed: fc.nat({ max: 2 * maxLimit }),
    nowMs,
  });
  const seconds = (ms: number) => Math.ceil(ms / 1000);
  /** Whole numbers in decimal digits, as RFC 9110 and RFC 9651 require. */
  const decimalDigits = /^\d+$/;

  test('show the window with the fewest requests left, and a sufficient Retry-After', () => {
    fc.assert(
      fc.property(fc.boolean(), limits, use, (allowed, limits, use) => {
        const uses = {
          minute: { used: use.minuteUsed, leftMs: use.minuteLeftMs },
          day: { used: use.dayUsed, leftMs: alignedLeftMs('day', use.nowMs) },
        };
        const decision = decisionOf(allowed, limits, { uses, nowMs: use.nowMs });
        if (decision.outcome !== 'allowed' && decision.outcome !== 'limited')
          throw new Error('unexpected ban');
        const { minute, day } = decision.windows;
        if (minute === undefined || day === undefined) throw new Error('a window is missing');
        const headers = rateLimitHeaders(decision);
        for (const { limit, remaining, resetMs } of [minute, day]) {
          expect(remaining >= 0 && remaining <= limit && resetMs >= 1 && resetMs <= dayMs).toBe(true);
        }
        const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
        for (const name of names) expect(headers[name]).toMatch(decimalDigits);
        const remaining = Number(headers['X-RateLimit-Remaining']);
        const resetsAtMs = Number(headers['X-RateLimit-Reset']) * 1000;
        const shown = [minute, day].find(
          (window) =>
            window.remaining === remaining &&
            String(window.limit) === headers['X-RateLimit-Limit'] &&
            seconds(use.nowMs + window.resetMs) * 1000 === resetsAtMs,
        );
        expect(shown).toBeDefined();
        expect(resetsAtMs).toBeGreaterThan(use.nowMs);
        expect(headers['RateLimit']).toBe(
          `"minute";r=${minute.remaining};t=${seconds(minute.resetMs)}, "day";r=${day.remaining};t=${seconds(day.resetMs)}`,
        );
        if (decision.outcome === 'allowed') {
          expect(remaining).toBe(Math.min(minute.remaining, day.remaining));
          expect(headers['Retry-After']).toBeUndefined();
        } else {
          const waitMs = Number(headers['Retry-After']) * 1000;
          expect(waitMs).toBeGreaterThanOrEqual(shown?.resetMs ?? Number.POSITIVE_INFINITY);
          expect(waitMs - (shown?.resetMs ?? 0)).toBeLessThan(1000);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('show the end of a ban', () => {
    fc.assert(
      fc.property(limits, fc.integer({ min: 1, max: 30 * dayMs }), nowMs, (limits, remainingMs, nowMs) => {
        const headers = rateLimitHeaders({ outcome: 'banned', limits, remainingMs, nowMs, isNew: false });
        expect(headers).toMatchObject({
          'X-RateLimit-Limit': String(limits.minute),
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(seconds(nowMs + remainingMs)),
          'Retry-After': String(seconds(remainingMs)),
        });
      }),
    );
  });

  test('never invite an immediate retry', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1000, max: dayMs }), (waitMs) => {
        expect(Number(retryAfter(waitMs)['Retry-After'])).toBe(Math.max(1, seconds(waitMs)));
      }),
    );
  });
});
