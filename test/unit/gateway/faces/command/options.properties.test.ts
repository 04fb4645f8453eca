import { InvalidArgumentError } from 'commander';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  durationArgument,
  nameArgument,
  timeArgument,
} from '../../../../../gateway/faces/command/options.ts';

/** Parsed value; undefined if the argument is refused with the error that leads to exit code 2. */
function parseOrUndefined<T>(parse: (text: string) => T, text: string): T | undefined {
  try {
    return parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return undefined;
  }
}

const yearMs = 365 * 86_400_000;
const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const number = fc.oneof(fc.integer(), fc.double(), fc.bigInt()).map(String);
const text = fc.oneof(fc.string({ unit: 'binary' }), number);

test('a duration is a number of units, from a second to a year', () => {
  const unit = fc.constantFrom<keyof typeof unitMs>('s', 'm', 'h', 'd');
  fc.assert(
    fc.property(fc.nat({ max: 2_000_000_000 }), unit, (amount, unit) => {
      const ms = amount * unitMs[unit];
      const inRange = amount <= 999_999_999 && ms >= 1000 && ms <= yearMs;
      expect(parseOrUndefined(durationArgument(), `${amount}${unit}`)).toBe(inRange ? ms : undefined);
    }),
    { numRuns: 500 },
  );
});

test('a duration that is not digits and a unit is refused', () => {
  fc.assert(
    fc.property(
      text.filter((text) => !/^\d+[smhd]$/.test(text)),
      (text) => {
        expect(parseOrUndefined(durationArgument(), text)).toBeUndefined();
        expect(parseOrUndefined(durationArgument({ min: 0 }), text)).toBeUndefined();
      },
    ),
    { numRuns: 500 },
  );
});

test('a time that does not exist is refused', () => {
  const upTo = (max: number) => fc.nat({ max }).map((n) => String(n).padStart(String(max).length, '0'));
  const suffix = fc.constantFrom('', 'Z', '+02:00', '-14:00', '+99:00', '.123Z', 'z');
  const day = fc.tuple(upTo(9999), upTo(14), upTo(33)).map((parts) => parts.join('-'));
  const time = fc
    .tuple(day, upTo(25), upTo(61), suffix)
    .map(([date, hour, minute, end]) => `${date}T${hour}:${minute}:00${end}`);
  fc.assert(
    fc.property(fc.oneof(time, day, text), (text) => {
      const date = parseOrUndefined(timeArgument('time'), text);
      if (date === undefined || /^\d+[smhd]$/.test(text)) return;
      expect(Number.isNaN(date.getTime())).toBe(false);
      // 31 April must not become 1 May.
      if (/^\d{4}-\d\d-\d\d$/.test(text)) expect(date.toISOString().slice(0, 10)).toBe(text);
    }),
    { numRuns: 3000 },
  );
});

test('a time has an offset, and a duration counts from now in its direction', () => {
  expect(parseOrUndefined(timeArgument('time'), '2027-01-31T12:00:00')).toBeUndefined();
  expect(timeArgument('time')('2027-01-31T12:00:00+02:00').toISOString()).toBe('2027-01-31T10:00:00.000Z');
  const day = 86_400_000;
  expect(Math.round((timeArgument('time')('2d').getTime() - Date.now()) / day)).toBe(2);
  expect(Math.round((timeArgument('time ago')('2d').getTime() - Date.now()) / day)).toBe(-2);
});

test('names and reasons are trimmed, without hidden characters, and at most 100 characters long', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 150 }), (text) => {
      const name = parseOrUndefined(nameArgument, text);
      if (name === undefined) return;
      expect(name).toBe(text.trim());
      expect(name).not.toMatch(/\p{Cc}|(?![\u200C\u200D])\p{Cf}/u);
      expect(name.length >= 1 && name.length <= 100).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('of what is not seen, a name may hold joiners alone', () => {
  for (const name of ['\u202Etxt.exe', 'a\u2066b', 'a\u200Bb', 'a\u200Fb', 'a\u00ADb', 'a\uFEFFb'])
    expect(() => nameArgument(name)).toThrow('without control or invisible characters');
  for (const name of ['می\u200Cخواهم', '👩\u200D💻']) expect(nameArgument(name)).toBe(name);
});
