import { describe, expect, test } from 'vitest';
import { checkHistory } from './check-history.ts';
import { makeSchedule } from './make-schedule.ts';
import { describeViolations } from './report.ts';
import { runSchedule } from './run-schedule.ts';

/** More seeds: npm run histories. */
const seeds = [3, 6, 25, 29];

describe('clients of gateways that operators change and faults disturb', { tags: ['redis-server'] }, () => {
  test.each(seeds)('see no promise broken, seed %i', async (seed) => {
    const history = await runSchedule(makeSchedule({ seed, lengthMs: 10_000 }));
    const violations = checkHistory(history);
    expect(describeViolations(history, violations)).toBe('');
    // The run was worth checking.
    expect(new Set(history.requests.map(({ status }) => status))).toContain(200);
    expect(new Set(history.requests.map(({ status }) => status))).toContain(429);
    expect(history.faults.length).toBeGreaterThan(0);
  });
});
