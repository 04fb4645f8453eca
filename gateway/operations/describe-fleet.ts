import { combineMeasures } from './fleet-measures.ts';
import { viewGateway } from './fleet-view.ts';
import { findProblems } from './problems/find-problems.ts';
import type { LiveFacts } from './problems/live-facts.ts';
import { summarizeProblems } from './problems/summarize-problems.ts';
import { combineUpstreams } from './problems/upstream-states.ts';

/** The state of the fleet as operators see it, on the first page of the console and in `ops status`. */
export function describeFleet(facts: Omit<LiveFacts, 'nowMs' | 'upstreams'>) {
  const { atMs, gateways, activeBans, withoutStatus } = facts.fleet;
  const upstreams = combineUpstreams(gateways);
  const problems = findProblems({ ...facts, nowMs: atMs, upstreams });
  return {
    /** ISO 8601 in UTC by Redis' clock. */
    at: new Date(atMs).toISOString(),
    /** The state in a sentence. */
    summary: summarizeProblems(problems),
    problems,
    activeBans,
    gateways: gateways.map(viewGateway),
    /** Processes of a release that publishes no status. */
    withoutStatus: withoutStatus.length,
    upstreams,
    /** What gateways have measured in the last minute. */
    recent: combineMeasures(gateways),
  };
}
