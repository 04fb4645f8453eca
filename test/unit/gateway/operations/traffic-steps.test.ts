import { expect, test } from 'vitest';
import { chooseRecordedStep, chooseStep } from '../../../../gateway/operations/traffic-steps.ts';

const [minuteMs, hourMs] = [60_000, 3_600_000];

test.each([
  { range: '5 minutes', rangeMs: 5 * minuteMs, maxPoints: 100, stepMs: 10_000 },
  { range: 'an hour', rangeMs: hourMs, maxPoints: 100, stepMs: minuteMs },
  { range: 'an hour on a wide terminal', rangeMs: hourMs, maxPoints: 360, stepMs: 10_000 },
  { range: 'more than ten seconds go back', rangeMs: hourMs + 1, maxPoints: 1000, stepMs: minuteMs },
  { range: 'a day', rangeMs: 24 * hourMs, maxPoints: 100, stepMs: 15 * minuteMs },
  { range: '7 days in a console', rangeMs: 7 * 24 * hourMs, maxPoints: 500, stepMs: 30 * minuteMs },
  { range: '7 days on a narrow terminal', rangeMs: 7 * 24 * hourMs, maxPoints: 10, stepMs: 24 * hourMs },
])('$range with at most $maxPoints points: $stepMs ms', ({ rangeMs, maxPoints, stepMs }) => {
  expect(chooseStep(rangeMs, maxPoints)).toBe(stepMs);
  expect(rangeMs / stepMs).toBeLessThanOrEqual(maxPoints);
});

test('a wanted step is taken if there is room', () => {
  expect(chooseStep(hourMs, 100, 5 * minuteMs)).toBe(5 * minuteMs);
  expect(chooseStep(hourMs, 10, 5 * minuteMs)).toBe(10 * minuteMs);
});

test('a short range that begins more than an hour ago has steps of a minute, which the record still has', () => {
  const nowMs = 10 * hourMs;
  const range = (agoMs: number) => ({ fromMs: nowMs - agoMs, toMs: nowMs - agoMs + 5 * minuteMs });
  expect(chooseRecordedStep(range(hourMs), nowMs, 360)).toBe(10_000);
  expect(chooseRecordedStep(range(hourMs + 1), nowMs, 360)).toBe(minuteMs);
});
