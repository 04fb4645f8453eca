import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { createFaultReport, type FaultReport } from '../../../../gateway/observability/invalid-values.ts';

const key = 'gw:plan:pro';
const noLimit = 'minute is not a whole number from 1 to 1000000000';
const unusable = 'Redis value is unusable: the last good one stays in force';

let lines: unknown[];
let gauge: [key: string, faults: number][];
let report: FaultReport;

beforeEach(() => {
  lines = [];
  gauge = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(JSON.parse(line)) });
  report = createFaultReport({ log, gauge: (key, faults) => gauge.push([key, faults]) });
});

test('a fault is told once, however often it is read', () => {
  for (let index = 0; index < 3; index += 1) report.report(key, [noLimit]);
  expect(lines).toEqual([{ level: 50, key, faults: [noLimit], msg: unusable }]);
  expect(gauge).toEqual([[key, 1]]);
});

test('a value that was always good is not mentioned', () => {
  report.report(key, []);
  expect(lines).toEqual([]);
  expect(gauge).toEqual([]);
});

test('another fault in the same value is told again', () => {
  report.report(key, [noLimit]);
  report.report(key, [noLimit, 'day is missing']);
  expect(lines).toEqual([
    { level: 50, key, faults: [noLimit], msg: unusable },
    { level: 50, key, faults: [noLimit, 'day is missing'], msg: unusable },
  ]);
  expect(gauge).toEqual([
    [key, 1],
    [key, 2],
  ]);
});

test('a value that is good again is told once, and so is its next fault', () => {
  report.report(key, [noLimit]);
  report.report(key, []);
  report.report(key, []);
  report.report(key, [noLimit]);
  expect(lines).toEqual([
    { level: 50, key, faults: [noLimit], msg: unusable },
    { level: 30, key, msg: 'Redis value is usable again' },
    { level: 50, key, faults: [noLimit], msg: unusable },
  ]);
  expect(gauge).toEqual([
    [key, 1],
    [key, 0],
    [key, 1],
  ]);
});

test('the same fault in two values is told of both', () => {
  report.report(key, ['is not a hash']);
  report.report('gw:ban-policy', ['is not a hash']);
  expect(gauge).toEqual([
    [key, 1],
    ['gw:ban-policy', 1],
  ]);
  expect(lines).toHaveLength(2);
});
