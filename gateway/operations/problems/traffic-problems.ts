import { anonymousPlan } from '../../plans/plan-settings.ts';
import { combineMeasures } from '../fleet-measures.ts';
import { allRefusals } from '../traffic-summary.ts';
import type { TrafficPoint } from '../traffic.ts';
import type { LiveFacts } from './live-facts.ts';
import { alerts, type Problem } from './problem.ts';

/** Uses 2 % of a month's allowance of 0.1 % in an hour. As GatewayErrorBudgetBurn in alerts.yaml. */
const maxFailedShare = 14.4 * 0.001;
/** A few failed requests are no share. */
const minimumFailed = 10;
/** Points, each a minute, that failures and bans are counted in. */
const recentMinutes = 5;
/** Factor between the p99 of a minute and the hour's median. */
const p99Factor = 3;
/** Below this, a tripled p99 is no trouble. */
const minimumP99Ms = 50;
/** With fewer, the p99 is the slowest request. */
const minimumRequests = 100;
const minimumMinutes = 10;
/** As the objective of GatewayLatencyBudgetBurn in alerts.yaml. */
const slowUpstreamMs = 250;
const manyBans = 10;
/** Requests a second without a valid key. As GatewayFloodWithoutKeys in alerts.yaml. */
const floodRate = 10;
/** As GatewayManyKeysRefused in alerts.yaml. */
const refusedKeysShare = 0.2;
const minimumRefusedKeys = 10;

export function findTrafficProblems(facts: LiveFacts): Problem[] {
  return [
    ...failures(facts.lastHour),
    ...latency(facts.lastHour),
    ...slowUpstream(facts),
    ...refusedKeys(facts),
    ...bans(facts.lastHour),
    ...flood(facts),
    ...endedKeys(facts),
  ];
}

function* failures(lastHour: readonly TrafficPoint[]): Iterable<Problem> {
  const recent = lastHour.slice(-recentMinutes);
  const count = (...statuses: string[]) =>
    sum(recent.flatMap(({ byStatus }) => statuses.map((status) => byStatus[status] ?? 0)));
  const failed = count('5xx', 'cut_off');
  const share = failed / (failed + count('2xx'));
  if (failed < minimumFailed || share <= maxFailedShare) return;
  yield {
    id: 'failures',
    severity: 'critical',
    title: 'Many requests fail',
    detail: `${percent(share)} of the requests of the last ${recent.length} minutes ended with 5xx or were cut off (${failed}); the objective is 0.1 %.`,
    advice:
      'The errors of the last minute are shown by code, and the metric gateway_errors_total has all. If it began with a change, undo it.',
    link: alerts('GatewayErrorBudgetBurn'),
  };
}

function* latency(lastHour: readonly TrafficPoint[]): Iterable<Problem> {
  // The newest minute may have few requests yet.
  const newest = lastHour.findLast(({ requests }) => requests >= minimumRequests);
  const p99s = lastHour.flatMap(({ latencyMs }) => latencyMs.served?.p99 ?? []).toSorted((a, b) => a - b);
  const median = p99s[Math.floor(p99s.length / 2)];
  const p99 = newest?.latencyMs.served?.p99;
  if (newest === undefined || p99 === undefined || median === undefined || p99s.length < minimumMinutes)
    return;
  if (!lastHour.slice(-2).includes(newest) || p99 < minimumP99Ms || p99 < p99Factor * median) return;
  yield {
    id: 'latency',
    severity: 'warning',
    title: 'Requests are slow',
    detail: `One of a hundred requests takes ${Math.round(p99)} ms or more. The median of the last hour is ${Math.round(median)} ms.`,
    advice:
      'If Redis or a service is the slow one, it has a card of its own. If neither has, look at the CPU of the gateways.',
    link: alerts('GatewayLatencyBudgetBurn'),
  };
}

function* slowUpstream({ fleet }: LiveFacts): Iterable<Problem> {
  const { upstreamP99Ms } = combineMeasures(fleet.gateways);
  if (upstreamP99Ms === null || upstreamP99Ms <= slowUpstreamMs) return;
  yield {
    id: 'upstream-slow',
    severity: 'warning',
    title: 'A service behind the gateway is slow',
    detail: `One of a hundred requests to it takes ${Math.round(upstreamP99Ms)} ms or more (p99 of the last minute); the objective is ${slowUpstreamMs} ms for the whole request.`,
    advice:
      'gateway_upstream_duration_seconds says which one. Look for statements that wait, locks and used-up CPU there.',
    link: alerts('GatewayLatencyBudgetBurn'),
  };
}

function refusedKeys({ fleet, redis }: LiveFacts): Problem[] {
  if (!redis.available) return [];
  const processes = fleet.gateways.flatMap((gateway) => gateway.processes);
  const keys = processes
    .filter(({ state }) => state !== 'not_seen')
    .flatMap(({ keysInUse }) => Object.entries(keysInUse));
  return Array.from(Map.groupBy(keys, ([plan]) => plan)).flatMap(([plan, counts]): Problem[] => {
    // Each process has the counts of all.
    const active = Math.max(...counts.map(([, { active }]) => active));
    const refused = Math.max(...counts.map(([, { refused }]) => refused));
    if (refused < minimumRefusedKeys || refused <= refusedKeysShare * active) return [];
    return [
      {
        id: `refused-keys ${plan}`,
        severity: 'warning',
        title: `Many customers of the plan ${plan} are refused`,
        detail: `${percent(refused / active)} of its API keys in use got 429 in the last minute (${refused} of ${active}).`,
        advice: 'If customers have grown, raise the plan, or try other limits first.',
        link: { page: `/console/plans/${encodeURIComponent(plan)}`, text: `Plan ${plan}` },
      },
    ];
  });
}

function* bans(lastHour: readonly TrafficPoint[]): Iterable<Problem> {
  const recent = lastHour.slice(-recentMinutes);
  const count = sum(recent.map(({ bans }) => bans));
  if (count < manyBans) return;
  yield {
    id: 'bans',
    severity: 'warning',
    title: 'Many keys are being banned',
    detail: `${count} bans began in the last ${recent.length} minutes.`,
    advice: 'If the keys are those of one client, a release of it may not obey Retry-After.',
    link: { page: '/console/bans', text: 'Bans' },
  };
}

/** Without requests of blocked addresses, about which something is done. */
function* flood({ perSecond, busiestAddresses }: LiveFacts): Iterable<Problem> {
  const ofAddresses = perSecond?.byPlan[anonymousPlan];
  if (ofAddresses === undefined) return;
  const rate = (ofAddresses.unauthenticated ?? 0) + allRefusals(ofAddresses.refusals);
  if (rate <= floodRate) return;
  const busiest = busiestAddresses.find(({ blockedUntil }) => blockedUntil === null);
  const most =
    busiest === undefined
      ? ''
      : ` Most come from ${busiest.address}: ${busiest.refused} in the last 20 seconds.`;
  yield {
    id: 'flood',
    severity: 'warning',
    title: 'Many requests without a valid key are refused',
    detail: `${Math.round(rate)} requests a second have no valid key.${most}`,
    advice: 'Unless it is a customer whose key has expired, block the address or its network for a time.',
    link: { page: '/console/addresses', text: 'Addresses' },
  };
}

/** A leaked key that was revoked, or a client that nobody has told of the end of its key. */
function endedKeys({ endedKeys: keys }: LiveFacts): Problem[] {
  return keys.map(({ id, name, requests }) => ({
    id: `ended-key ${id}`,
    severity: 'notice',
    title: `A key of ${name || id} is used after its end`,
    detail: `${requests} requests with it were refused in the last minute.`,
    advice: 'Its page has their addresses and times. If the key has leaked, block the address.',
    link: { page: `/console/customers/${encodeURIComponent(id)}`, text: name || id },
  }));
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
