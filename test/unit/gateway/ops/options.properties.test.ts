import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  countArgument,
  durationArgument,
  graceArgument,
  limitArgument,
  nameArgument,
  reasonArgument,
  secondsArgument,
  timeArgument,
} from '../../../../gateway/ops/options.ts';

/** The value, or undefined where the argument is refused in the one way that makes a message and exit code 2. */
function accepted<T>(parse: (text: string) => T, text: string): T | undefined {
  try {
    return parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return undefined;
  }
}

const yearMs = 365 * 86_400_000;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const number = fc.oneof(fc.integer(), fc.double(), fc.bigInt()).map(String);
const text = fc.oneof(fc.string({ unit: 'binary' }), number);

test('a duration is its number of units, of a second at least and a year at most', () => {
  const unit = fc.constantFrom<keyof typeof unitMs>('s', 'm', 'h', 'd', 'w');
  fc.assert(
    fc.property(fc.nat({ max: 2_000_000_000 }), unit, (amount, unit) => {
      const ms = amount * unitMs[unit];
      const inRange = amount <= 999_999_999 && ms >= 1000 && ms <= yearMs;
      expect(accepted(durationArgument, `${amount}${unit}`)).toBe(inRange ? ms : undefined);
    }),
    { numRuns: 500 },
  );
});

test('a duration that no digits and unit make up is refused', () => {
  fc.assert(
    fc.property(
      text.filter((text) => !/^\d+[smhdw]$/.test(text)),
      (text) => {
        expect(accepted(durationArgument, text)).toBeUndefined();
        expect(accepted(graceArgument, text)).toBe(text === '0' ? 0 : undefined);
      },
    ),
    { numRuns: 500 },
  );
});

test('numbers are written in one way only', () => {
  for (const parse of [limitArgument, countArgument(1000), secondsArgument]) {
    fc.assert(
      fc.property(fc.oneof(text, fc.nat({ max: 2000 }).map(String)), (text) => {
        const value = accepted(parse, text);
        if (value !== undefined) expect(String(value)).toBe(text);
      }),
    );
    expect(accepted(parse, '1')).toBe(1);
  }
});

test('a time is one that exists', () => {
  const digits = (length: number) =>
    fc.nat({ max: 10 ** length - 1 }).map((n) => String(n).padStart(length, '0'));
  const time = fc
    .tuple(
      digits(4),
      fc.integer({ min: 0, max: 14 }),
      fc.integer({ min: 0, max: 33 }),
      fc.integer({ min: 0, max: 25 }),
      fc.integer({ min: 0, max: 61 }),
      fc.constantFrom('', 'Z', '+02:00', '-14:00', '+99:00', '.123Z', 'z'),
    )
    .map(([year, month, day, hour, minute, end]) => {
      const two = (n: number) => String(n).padStart(2, '0');
      return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:00${end}`;
    });
  fc.assert(
    fc.property(
      fc.oneof(
        time,
        time.map((text) => text.slice(0, 10)),
        text,
      ),
      (text) => {
        const date = accepted(timeArgument, text);
        if (date === undefined) return;
        expect(Number.isNaN(date.getTime())).toBe(false);
        // A day that the month does not have is not quietly the next one's.
        if (/^\d{4}-\d\d-\d\d$/.test(text)) expect(date.toISOString().slice(0, 10)).toBe(text);
      },
    ),
    { numRuns: 3000 },
  );
});

test('names and reasons have no space around them, no control characters, and an end', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 150 }), (text) => {
      for (const parse of [nameArgument, reasonArgument]) {
        const name = accepted(parse, text);
        if (name === undefined) continue;
        expect(name).toBe(text.trim());
        expect(name).not.toMatch(/\p{Cc}/u);
        expect(name.length >= 1 && name.length <= 100).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
