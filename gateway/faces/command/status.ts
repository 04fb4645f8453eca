import { Command } from 'commander';
import { OperationFailure } from '../../control/invalid-operation.ts';
import { withoutRedis } from '../../control/status/find-problems.ts';
import { isWrong, readFleetReport, type FleetReport } from '../../control/status/fleet-report.ts';
import { gatewayName, type GatewayView } from '../../control/status/fleet-status.ts';
import type { Problem, ProblemLink } from '../../control/status/problem.ts';
import { jsonOption, type JsonOption } from './options.ts';
import { print, printable, printFields, printJson, printTable } from './output.ts';
import { RedisUnreachable, withRedis } from './redis-session.ts';

export function statusCommand(): Command {
  return new Command('status')
    .description('what is wrong, gateways, upstreams, Redis and traffic; exits with 1 if something is wrong')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const report = await withRedis(readFleetReport).catch((error: unknown) => {
        throw error instanceof RedisUnreachable
          ? new OperationFailure(`${error.message}. ${forGateways}`)
          : error;
      });
      if (json) printJson(report);
      else await printReport(report);
      if (report.problems.some(isWrong)) process.exitCode = 1;
    });
}

async function printReport(report: FleetReport): Promise<void> {
  const { summary, problems, gateways, upstreams, redis, recent, activeBans } = report;
  await print(`${summary}\n\n${problems.map(problemText).join('')}`);
  await printTable(
    ['GATEWAY', 'STATE', 'VERSION', 'WORKERS', 'STARTED', 'WITHOUT REDIS'],
    gateways,
    (gateway) => [
      gatewayName(gateway),
      gateway.state,
      gateway.version,
      `${gateway.processes.filter(({ state }) => state !== 'not_seen').length} of ${gateway.workers}`,
      gateway.startedAt,
      timeWithoutRedis(gateway),
    ],
  );
  await print('\n');
  await printTable(['UPSTREAM', 'STATE', 'SEEN AS'], upstreams, ({ upstream, state, seenAs }) => [
    upstream,
    state,
    countsText(seenAs),
  ]);
  await print('\n');
  await printTable(
    ['REDIS', 'VERSION', 'MEMORY', 'APPEND-ONLY FILE', 'REPLICAS'],
    redis,
    ({ address, version, memory, appendOnly, connectedReplicas }) => [
      address,
      version,
      memory === null ? null : `${Math.round((100 * memory.usedBytes) / memory.limitBytes)} %`,
      appendOnly === null ? null : appendOnly ? 'yes' : 'no',
      connectedReplicas,
    ],
  );
  await print('\n');
  printFields({
    'last minute': trafficText(recent),
    'error responses, last minute': countsText(recent.errors) || 'none',
    'p99, last minute': `Redis ${milliseconds(recent.redisP99Ms)}, upstream ${milliseconds(recent.upstreamP99Ms)}`,
    'active bans': activeBans,
  });
}

const forGateways = `If gateways cannot reach it either: ${withoutRedis.effect} ${withoutRedis.advice} ${linkText(withoutRedis.link)}`;

function problemText({ severity, title, detail, advice, link }: Problem): string {
  return (
    printable(`${severity}: ${title}`) +
    `\n  ${printable(detail)}\n  ${printable(advice)} ${linkText(link)}\n\n`
  );
}

function linkText({ text, heading, document }: ProblemLink): string {
  return heading === undefined ? `See console, ${text}.` : `See "${heading}" in ${document}.`;
}

/** The newest time without Redis of any process. */
function timeWithoutRedis({ processes }: GatewayView): string {
  const [newest] = processes
    .flatMap(({ localMode }) => localMode ?? [])
    .toSorted((one, other) => other.from.localeCompare(one.from));
  if (newest === undefined) return 'never';
  return newest.to === null ? `since ${newest.from}` : `${newest.from} to ${newest.to}`;
}

function trafficText({ requests, byStatus, refused, withoutKey, latencyMs }: FleetReport['recent']): string {
  const failed = (byStatus['5xx'] ?? 0) + (byStatus['cut_off'] ?? 0);
  const p99 = latencyMs === null ? '' : `, p99 ${Math.round(latencyMs.p99)} ms`;
  return `${requests} requests, ${refused} refused, ${withoutKey} without a key, ${failed} failed${p99}`;
}

const milliseconds = (ms: number | null) => (ms === null ? '-' : `${Math.round(ms)} ms`);

const countsText = (counts: Partial<Record<string, number>>) =>
  Object.entries(counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ');
