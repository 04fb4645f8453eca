import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { createInvalidValues, type InvalidValues } from '../../../../gateway/observability/invalid-values.ts';

const key = 'gw:plan:pro';
const noLimit = 'minute is not a whole number from 1 to 1000000000';
const invalid = 'Redis value is invalid; the last valid one stays in force';

let lines: unknown[];
let gauge: [key: string, issues: number][];
let invalidValues: InvalidValues;

beforeEach(() => {
  lines = [];
  gauge = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  invalidValues = createInvalidValues({ log, setGauge: (label, issues) => gauge.push([label, issues]) });
});

test('a fault is told once, however often it is read', () => {
  for (let index = 0; index < 3; index += 1) invalidValues.report(key, [noLimit]);
  expect(lines).toEqual([{ level: 50, key, issues: [noLimit], msg: invalid }]);
  expect(gauge).toEqual([[key, 1]]);
});

test('a value that was always good is not mentioned', () => {
  invalidValues.report(key, []);
  expect(lines).toEqual([]);
  expect(gauge).toEqual([]);
});

test('another fault in the same value is told again', () => {
  invalidValues.report(key, [noLimit]);
  invalidValues.report(key, [noLimit, 'day is missing']);
  expect(lines).toEqual([
    { level: 50, key, issues: [noLimit], msg: invalid },
    { level: 50, key, issues: [noLimit, 'day is missing'], msg: invalid },
  ]);
  expect(gauge).toEqual([
    [key, 1],
    [key, 2],
  ]);
});

test('a value that is good again is told once, and so is its next fault', () => {
  invalidValues.report(key, [noLimit]);
  invalidValues.report(key, []);
  invalidValues.report(key, []);
  invalidValues.report(key, [noLimit]);
  expect(lines).toEqual([
    { level: 50, key, issues: [noLimit], msg: invalid },
    { level: 30, key, msg: 'Redis value is valid again' },
    { level: 50, key, issues: [noLimit], msg: invalid },
  ]);
  expect(gauge).toEqual([
    [key, 1],
    [key, 0],
    [key, 1],
  ]);
});

test('the same fault in two values is told of both', () => {
  invalidValues.report(key, ['is not a hash']);
  invalidValues.report('gw:ban-policy', ['is not a hash']);
  expect(gauge).toEqual([
    [key, 1],
    ['gw:ban-policy', 1],
  ]);
  expect(lines).toHaveLength(2);
});
