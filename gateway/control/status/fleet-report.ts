import { z } from 'zod';
import type { ReadingSession } from '../session.ts';
import { findProblems } from './find-problems.ts';
import { combineMeasures, combineUpstreams, measuresSchema, upstreamStateSchema } from './fleet-measures.ts';
import { gatewaySchema, readFleetStatus } from './fleet-status.ts';
import { problemSchema, severities, type Problem } from './problem.ts';
import { readRedisStatus, redisServerSchema } from './redis-status.ts';

const time = z.iso.datetime();

/** The state of the fleet as operators see it, on the overview and in `ops status`. */
export const fleetReportSchema = z
  .object({
    at: time,
    summary: z.string().describe('The state in a sentence'),
    problems: z.array(problemSchema).describe('What is wrong, most severe first'),
    redis: z.array(redisServerSchema).describe('Its servers that accept writes'),
    activeBans: z.int().describe('Banned keys, at most 1,000'),
    gateways: z.array(gatewaySchema),
    upstreams: z.array(upstreamStateSchema),
    recent: measuresSchema,
  })
  .meta({ id: 'FleetReport', description: 'Times are those of the clock of Redis.' });

export type FleetReport = z.infer<typeof fleetReportSchema>;

/** @param redisIsPrivate whether the gateway runs this Redis itself */
export async function readFleetReport(session: ReadingSession, redisIsPrivate: boolean) {
  const [fleet, redis] = await Promise.all([readFleetStatus(session), readRedisStatus(session.redis)]);
  const { atMs, gateways, activeBans } = fleet;
  const [upstreams, recent] = [combineUpstreams(gateways), combineMeasures(gateways)];
  const problems = findProblems({ redis, redisIsPrivate, fleet, upstreams, recent });
  return {
    at: new Date(atMs).toISOString(),
    summary: summarizeProblems(problems),
    problems,
    redis,
    activeBans,
    gateways: gateways.map((gateway) => gatewaySchema.parse(gateway)),
    upstreams,
    recent,
  };
}

const nouns: Record<Problem['severity'], [one: string, several: string]> = {
  critical: ['critical problem', 'critical problems'],
  warning: ['warning', 'warnings'],
  notice: ['notice', 'notices'],
};

/** The state of the fleet in a sentence. Notices are for information: nothing is down. */
export function summarizeProblems(problems: readonly Pick<Problem, 'severity'>[]): string {
  const counted = severities.flatMap((severity) => {
    const count = problems.filter((problem) => problem.severity === severity).length;
    return count === 0 ? [] : [`${count} ${nouns[severity][count === 1 ? 0 : 1]}`];
  });
  if (problems.some(isWrong)) return `${counted.join(', ')}.`;
  return counted.length === 0 ? 'All is well.' : `Nothing is down; ${counted.join(', ')}.`;
}

/** Whether somebody has to do something about it. */
export const isWrong = ({ severity }: Pick<Problem, 'severity'>) => severity !== 'notice';
