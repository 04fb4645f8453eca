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
    if (error instanceof InvalidArgumentError) return undefined;
    throw error;
  }
}

test.each<[text: string, ms: number | undefined]>([
  ['0s', undefined],
  ['1s', 1000],
  ['90m', 5_400_000],
  ['12h', 43_200_000],
  ['365d', 31_536_000_000],
  ['366d', undefined],
  ['1234567890s', undefined],
  ['5', undefined],
  ['1.5h', undefined],
  ['-1h', undefined],
  ['1e3s', undefined],
  ['1 h', undefined],
  ['1H', undefined],
])('the duration %s is %s ms', (text, ms) => {
  expect(parseOrUndefined(durationArgument(), text)).toBe(ms);
});

test('a time has an offset, and a duration counts from now in its direction', () => {
  for (const text of ['2027-01-31T12:00:00', '2027-04-31', '31 January', ''])
    expect(parseOrUndefined(timeArgument('time'), text)).toBeUndefined();
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
