import type { FleetGateway, FleetProcess } from '../fleet-status.ts';
import type { LiveFacts } from './live-facts.ts';
import { alerts, type Problem } from './problem.ts';

/** As GatewayWorkersRestarting in alerts.yaml: within 15 minutes. */
const manyRestarts = 2;

export function findFleetProblems(facts: LiveFacts): Problem[] {
  // What others do is unknown without Redis.
  const gateways = facts.redis.available ? facts.fleet.gateways : [];
  return [
    ...noGatewayProblems(facts),
    ...upstreamProblems(facts),
    ...gateways.flatMap((gateway) => Array.from(gatewayProblems(gateway, facts.nowMs))),
    ...versionProblems(facts),
  ];
}

/** Name that an operator knows a gateway by. */
export function gatewayName({ host, adminAddress }: Pick<FleetGateway, 'host' | 'adminAddress'>): string {
  return adminAddress === undefined ? host : `${host} (${adminAddress})`;
}

function* noGatewayProblems({ redis, fleet: { gateways, withoutStatus } }: LiveFacts): Iterable<Problem> {
  if (!redis.available || withoutStatus.length > 0 || gateways.some(({ state }) => state !== 'not_seen')) {
    return;
  }
  yield {
    id: 'no-gateway',
    severity: 'critical',
    title: 'No gateway is running',
    detail: 'No gateway announces itself on this Redis.',
    advice: 'Start one, or check that REDIS_URL is the Redis of the gateways.',
    link: alerts('GatewayMissing'),
  };
}

function upstreamProblems({ upstreams }: LiveFacts): Problem[] {
  return Array.from(
    Map.groupBy(upstreams, ({ service }) => service),
    ([service, ofService]) => problemsOfService(service, ofService),
  ).flat();
}

function problemsOfService(service: string, upstreams: LiveFacts['upstreams']): Problem[] {
  if (upstreams.every(({ state }) => ['down', 'not_ready'].includes(state))) {
    const states = upstreams.map(({ upstream, state }) => `${upstream} is ${stateText[state]}`).join(', ');
    return [
      {
        id: `no-upstream-ready ${service}`,
        severity: 'critical',
        title: `No instance of ${service} is ready`,
        detail: `Requests that need it get 503: ${states}.`,
        advice:
          'Check that its instances run, at the addresses that the gateway was given, and read their log.',
        link: alerts('GatewayNoUpstreamReady'),
      },
    ];
  }
  return upstreams
    .filter(({ state }) => state === 'down' || state === 'not_ready')
    .map(({ upstream, state, seenAs }) => ({
      id: `upstream ${upstream}`,
      severity: state === 'down' ? 'warning' : 'notice',
      title: `Upstream ${upstream} is ${stateText[state]}`,
      detail: `${seenAs[state]} of ${total(seenAs)} gateway processes see it so. The other instances get its requests.`,
      advice: 'If it is not being restarted or upgraded, check its process and its log.',
      link: alerts('GatewayUpstreamDown'),
    }));
}

function* gatewayProblems(gateway: FleetGateway, nowMs: number): Iterable<Problem> {
  yield* notSeen(gateway, nowMs);
  yield* crash(gateway);
  yield* restarts(gateway);
}

const stateText: Record<string, string> = { down: 'down and ejected', not_ready: 'not ready' };

const total = (counts: Partial<Record<string, number>>) =>
  Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0);

function* notSeen(gateway: FleetGateway, nowMs: number): Iterable<Problem> {
  const name = gatewayName(gateway);
  const missing = gateway.processes.filter(({ state }) => state === 'not_seen');
  const secondsAgo = (processes: readonly FleetProcess[]) =>
    Math.round((nowMs - Math.max(...processes.map(({ seenAtMs }) => seenAtMs))) / 1000);
  if (gateway.state === 'not_seen') {
    yield {
      id: `gateway-not-seen ${gateway.id}`,
      severity: 'warning',
      title: `Gateway ${name} is not seen`,
      detail: `It last announced itself ${secondsAgo(missing)} s ago and has not shut down: it has crashed, hangs, or is cut off from Redis.`,
      advice: `Ask it: curl http://${gateway.adminAddress ?? gateway.host}/readyz on its machine. If it does not respond, its supervisor and its log say why.`,
      link: alerts('GatewayDown'),
    };
    return;
  }
  const live = gateway.processes.length - missing.length;
  if (live >= gateway.workers) return;
  const since = missing.length === 0 ? '' : ` One was last seen ${secondsAgo(missing)} s ago.`;
  yield {
    id: `workers-not-seen ${gateway.id}`,
    severity: 'warning',
    title: `Gateway ${name} runs ${live} of ${gateway.workers} workers`,
    detail: `The others hang, or cannot start.${since}`,
    advice: 'A worker that hangs is replaced after 15 s. If it cannot start, the log says why.',
    link: alerts('GatewayWorkersRestarting'),
  };
}

function* crash({ id, crashedAt, ...gateway }: FleetGateway): Iterable<Problem> {
  if (crashedAt === undefined) return;
  yield {
    id: `gateway-crashed ${id}`,
    severity: 'notice',
    title: 'A gateway ended unexpectedly, and was started again',
    detail: `${gatewayName(gateway)} was last seen at ${crashedAt} and did not shut down. Requests in flight in it were lost.`,
    advice:
      'Its supervisor and its log say how it ended; without a word it was killed, often for its memory.',
    link: alerts('GatewayDown'),
  };
}

function* restarts({ id, restartedAt, ...gateway }: FleetGateway): Iterable<Problem> {
  const last = restartedAt.at(-1);
  if (last === undefined) return;
  const count = restartedAt.length;
  yield {
    id: `workers-restarting ${id}`,
    severity: count > manyRestarts ? 'warning' : 'notice',
    title: count === 1 ? 'A worker was restarted' : 'Workers exit or hang',
    detail: `${gatewayName(gateway)} has replaced ${count === 1 ? 'a worker' : `${count} workers`} in 15 minutes, the last one at ${last}. Requests in flight in them were lost.`,
    advice: 'Look for "worker exited unexpectedly" and "worker does not respond" in its log.',
    link: alerts('GatewayWorkersRestarting'),
  };
}

function* versionProblems({ fleet: { gateways, withoutStatus } }: LiveFacts): Iterable<Problem> {
  const versions = [
    ...new Set(gateways.filter(({ state }) => state !== 'not_seen').map(({ version }) => version)),
    ...(withoutStatus.length > 0 ? ['one without a status (older version)'] : []),
  ].toSorted();
  if (versions.length < 2) return;
  yield {
    id: 'versions',
    severity: 'notice',
    title: 'Two versions are running',
    detail: `Versions ${versions.join(', ')}. During an upgrade this is expected.`,
    advice: 'If no upgrade is under way, restart the gateways of the older version.',
    link: { document: 'gateway/OPERATIONS.md', heading: 'Start, stop, health' },
  };
}
