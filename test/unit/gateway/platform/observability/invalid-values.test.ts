import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import {
  createInvalidValues,
  type InvalidValues,
} from '../../../../../gateway/platform/observability/invalid-values.ts';

const key = 'gw:plan:pro';
const limitIssue = 'minute is not a whole number from 1 to 1000000000';
const invalidMessage = 'Redis value is invalid; the last valid one stays in force';

let lines: unknown[];
let gauge: [key: string, issues: number][];
let invalidValues: InvalidValues;

beforeEach(() => {
  lines = [];
  gauge = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  invalidValues = createInvalidValues({ log, setGauge: (label, issues) => gauge.push([label, issues]) });
});

test('an invalid value is reported once for several reads', () => {
  for (let index = 0; index < 3; index += 1) invalidValues.report(key, [limitIssue]);
  expect(lines).toEqual([{ level: 40, key, issues: [limitIssue], msg: invalidMessage }]);
  expect(gauge).toEqual([
    [key, 0],
    [key, 1],
  ]);
});

test('a value that was always valid is not logged, and its metric is 0', () => {
  invalidValues.report(key, []);
  invalidValues.report(key, []);
  invalidValues.report('gw:key:{ab}', []);
  invalidValues.report('gw:key:{cd}', []);
  expect(lines).toEqual([]);
  expect(gauge).toEqual([
    [key, 0],
    ['gw:key', 0],
  ]);
});

test('another issue of the same value is reported', () => {
  invalidValues.report(key, [limitIssue]);
  invalidValues.report(key, [limitIssue, 'day is missing']);
  expect(lines).toEqual([
    { level: 40, key, issues: [limitIssue], msg: invalidMessage },
    { level: 40, key, issues: [limitIssue, 'day is missing'], msg: invalidMessage },
  ]);
  expect(gauge).toEqual([
    [key, 0],
    [key, 1],
    [key, 2],
  ]);
});

test('a value that becomes valid is reported once, and so is its next issue', () => {
  invalidValues.report(key, [limitIssue]);
  invalidValues.report(key, []);
  invalidValues.report(key, []);
  invalidValues.report(key, [limitIssue]);
  expect(lines).toEqual([
    { level: 40, key, issues: [limitIssue], msg: invalidMessage },
    { level: 30, key, msg: 'Redis value is valid again' },
    { level: 40, key, issues: [limitIssue], msg: invalidMessage },
  ]);
  expect(gauge).toEqual([
    [key, 0],
    [key, 1],
    [key, 0],
    [key, 1],
  ]);
});

test('what is in force instead is logged', () => {
  const enforced = { minute: 300, day: 10_000 };
  invalidValues.report(key, ['minute is missing'], { enforced, source: 'default' });
  expect(lines).toEqual([
    {
      level: 40,
      key,
      issues: ['minute is missing'],
      enforced,
      msg: 'Redis value is invalid, and no running gateway has another one; the built-in default is in force',
    },
  ]);
});

test('the same issue of two values is reported for both', () => {
  invalidValues.report(key, ['is not a hash']);
  invalidValues.report('gw:ban-policy', ['is not a hash']);
  expect(gauge).toEqual([
    [key, 0],
    [key, 1],
    ['gw:ban-policy', 0],
    ['gw:ban-policy', 1],
  ]);
  expect(lines).toHaveLength(2);
});

test('the records of keys share a label, which tells no hash of a key', () => {
  invalidValues.report('gw:key:{cus_1}:abc', ['Redis has lost a change']);
  invalidValues.report('gw:key:{cus_2}:def', ['Redis has lost a change']);
  invalidValues.report('gw:key:{cus_1}:abc', []);
  expect(gauge).toEqual([
    ['gw:key', 0],
    ['gw:key', 1],
    ['gw:key', 2],
    ['gw:key', 1],
  ]);
});
