import { z } from 'zod';
import { combineMeasures, measuresSchema, type FleetMeasures } from './fleet-measures.ts';
import { readFleetStatus, type FleetStatus } from './fleet-status.ts';
import { gatewaySchema, viewGateway } from './fleet-view.ts';
import { findProblems } from './problems/find-problems.ts';
import { problemSchema, severities, type Problem } from './problems/problem.ts';
import { readRedisStatus, redisServerSchema } from './redis-status.ts';
import type { ReadingSession } from './session.ts';
import { combineUpstreams, upstreamStateSchema, type UpstreamState } from './upstream-states.ts';

const time = z.iso.datetime();

const redisSchema = z.discriminatedUnion('available', [
  z.object({ available: z.literal(true), servers: z.array(redisServerSchema) }),
  z.object({ available: z.literal(false), since: time }),
]);

/** The state of the fleet as operators see it, on the page Now and in `ops status`. */
export const fleetReportSchema = z
  .object({
    at: time,
    summary: z.string().describe('The state in a sentence'),
    problems: z.array(problemSchema).describe('What is wrong, most severe first'),
    redis: redisSchema.describe('While it is not available, only this gateway is known'),
    activeBans: z.int(),
    gateways: z.array(gatewaySchema),
    withoutStatus: z.int().describe('Processes of a release that publishes no status'),
    upstreams: z.array(upstreamStateSchema),
    recent: measuresSchema,
  })
  .meta({ id: 'FleetReport', description: 'Times are those of the clock of Redis.' });

export type FleetReport = z.infer<typeof fleetReportSchema>;

/** What problems are found in, as of one moment. */
export interface Facts {
  redis: FleetReport['redis'];
  /** Whether the gateway has started Redis itself. */
  redisIsPrivate: boolean;
  /** This gateway alone, while Redis is unavailable. */
  fleet: FleetStatus;
  upstreams: readonly UpstreamState[];
  recent: FleetMeasures;
}

/** @param redisIsPrivate whether the gateway runs this Redis itself */
export async function readFleetReport(
  session: ReadingSession,
  redisIsPrivate: boolean,
): Promise<FleetReport> {
  const [fleet, servers] = await Promise.all([readFleetStatus(session), readRedisStatus(session.redis)]);
  return describeFleet({ redis: { available: true, servers }, redisIsPrivate, fleet });
}

export function describeFleet(known: Pick<Facts, 'redis' | 'redisIsPrivate' | 'fleet'>): FleetReport {
  const { atMs, gateways, activeBans, withoutStatus } = known.fleet;
  const [upstreams, recent] = [combineUpstreams(gateways), combineMeasures(gateways)];
  const problems = findProblems({ ...known, upstreams, recent });
  return {
    at: new Date(atMs).toISOString(),
    summary: summarizeProblems(problems),
    problems,
    redis: known.redis,
    activeBans,
    gateways: gateways.map(viewGateway),
    withoutStatus: withoutStatus.length,
    upstreams,
    recent,
  };
}

const nouns: Record<Problem['severity'], [one: string, several: string]> = {
  critical: ['critical problem', 'critical problems'],
  warning: ['warning', 'warnings'],
  notice: ['notice', 'notices'],
};

/** The state of the fleet in a sentence. Notices are for information: with nothing else, all is well. */
export function summarizeProblems(problems: readonly Pick<Problem, 'severity'>[]): string {
  const counted = severities.flatMap((severity) => {
    const count = problems.filter((problem) => problem.severity === severity).length;
    return count === 0 ? [] : [`${count} ${nouns[severity][count === 1 ? 0 : 1]}`];
  });
  if (problems.some(isWrong)) return `${counted.join(', ')}.`;
  return ['All is well', ...counted].join('; ') + '.';
}

/** Whether somebody has to do something about it. */
export const isWrong = ({ severity }: Pick<Problem, 'severity'>) => severity !== 'notice';
