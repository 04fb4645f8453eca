import { findFleetProblems } from './fleet-problems.ts';
import type { LiveFacts } from './live-facts.ts';
import { findLocalModeProblems } from './local-mode-problems.ts';
import { severities, type Problem } from './problem.ts';
import { findRedisProblems } from './redis-problems.ts';
import { findSettingProblems } from './setting-problems.ts';
import { findTrafficProblems } from './traffic-problems.ts';

/** Everything that is wrong, most severe first. Thresholds are those of observability/alerts.yaml, without their delays. */
export function findProblems(facts: LiveFacts): Problem[] {
  return [
    ...findRedisProblems(facts),
    ...findLocalModeProblems(facts),
    ...findFleetProblems(facts),
    ...findSettingProblems(facts),
    ...findTrafficProblems(facts),
  ].toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity));
}
