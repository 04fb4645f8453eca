import { oneMinute, tenSeconds } from '../traffic/traffic-buckets.ts';

const [secondMs, minuteMs, hourMs] = [1000, 60_000, 3_600_000];

/** Steps that a chart can have: each divides a day. */
const stepsMs = [
  ...[10, 20, 30].map((seconds) => seconds * secondMs),
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * hourMs),
];

/**
 * The shortest step with which a range has at most so many points, and a point more if it does not begin at a multiple of
 * the step.
 * @param minimumMs the step is not shorter than this
 */
export function chooseStep(rangeMs: number, maxPoints: number, minimumMs = 0): number {
  const shortestMs = rangeMs > tenSeconds.keptMs ? oneMinute.stepMs : tenSeconds.stepMs;
  return (
    stepsMs.find(
      (stepMs) => stepMs >= Math.max(shortestMs, minimumMs) && Math.ceil(rangeMs / stepMs) <= maxPoints,
    ) ?? Math.max(24 * hourMs, minimumMs)
  );
}

/** As chooseStep, with a step that the record has for the range: those below a minute reach back an hour. */
export function chooseRecordedStep(
  { fromMs, toMs }: { fromMs: number; toMs: number },
  nowMs: number,
  maxPoints: number,
): number {
  const isOld = nowMs - fromMs > tenSeconds.keptMs;
  return chooseStep(toMs - fromMs, maxPoints, isOld ? oneMinute.stepMs : 0);
}
