import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import {
  createInvalidValues,
  type InvalidValues,
} from '../../../../../gateway/platform/observability/invalid-values.ts';

const key = 'gw:plan:pro';
const issues = ['minute is not a whole number from 1 to 1000000000'];
const more = [...issues, 'day is missing'];
const msg = 'Redis value is invalid; the last valid one stays in force';

let lines: unknown[];
let gauge: [key: string, issues: number][];
let invalidValues: InvalidValues;

beforeEach(() => {
  lines = [];
  gauge = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  invalidValues = createInvalidValues({ log, setGauge: (label, count) => gauge.push([label, count]) });
});

test('each change of a value is reported once, however often it is read: invalid, other issues, valid, invalid', () => {
  for (const found of [[], [], issues, issues, more, more, [], [], issues]) invalidValues.report(key, found);
  expect(lines).toEqual([
    { level: 40, key, issues, msg },
    { level: 40, key, issues: more, msg },
    { level: 30, key, msg: 'Redis value is valid again' },
    { level: 40, key, issues, msg },
  ]);
  expect(gauge).toEqual([0, 1, 2, 0, 1].map((count) => [key, count]));
});

test('the records of keys share a label, which tells no hash of a key', () => {
  invalidValues.report('gw:key:{cus_1}:abc', ['Redis has lost a change']);
  invalidValues.report('gw:key:{cus_2}:def', ['Redis has lost a change']);
  invalidValues.report('gw:key:{cus_1}:abc', []);
  expect(gauge).toEqual([0, 1, 2, 1].map((count) => ['gw:key', count]));
});
