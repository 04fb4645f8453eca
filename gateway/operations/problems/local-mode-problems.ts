import type { FleetGateway } from '../fleet-status.ts';
import { gatewayName } from './fleet-problems.ts';
import type { LiveFacts } from './live-facts.ts';
import { alerts, type Problem } from './problem.ts';

/** A time without Redis of one process. */
interface LocalPeriod {
  gateway: string;
  /** Empty if the process is the whole gateway. */
  worker: string;
  from: string;
  /** Null while it lasts. */
  to: string | null;
}

const recentMs = 15 * 60_000;
const isRecent = (iso: string, nowMs: number) => nowMs - Date.parse(iso) < recentMs;

/** One stall of Redis is one problem, however many processes it hit: their times overlap. */
export function findLocalModeProblems({ redis, fleet }: LiveFacts): Problem[] {
  // What others do is unknown without Redis.
  const periods = redis.available ? fleet.gateways.flatMap(localPeriods) : [];
  const stalls: LocalPeriod[][] = [];
  for (const period of periods.toSorted((one, other) => one.from.localeCompare(other.from))) {
    const last = stalls.at(-1);
    if (last?.some(({ to }) => to === null || to >= period.from)) last.push(period);
    else stalls.push([period]);
  }
  return stalls.flatMap(stallProblem);
}

function localPeriods(gateway: FleetGateway): LocalPeriod[] {
  return gateway.processes.flatMap(({ state, localMode, worker, startedAt, seenAtMs }) => {
    if (state === 'not_seen' || localMode === null) return [];
    const { from, to } = localMode;
    const isPast = to !== null && (Date.parse(to) < Date.parse(startedAt) || !isRecent(to, seenAtMs));
    if (isPast) return [];
    return [{ gateway: gatewayName(gateway), worker: worker === null ? '' : `, worker ${worker}`, from, to }];
  });
}

function stallProblem(stall: readonly LocalPeriod[]): Problem[] {
  const lasting = stall.filter(({ to }) => to === null);
  const hit = lasting.length > 0 ? lasting : stall;
  const [first] = hit;
  const to = hit
    .map((period) => period.to ?? '')
    .toSorted()
    .at(-1);
  if (first === undefined || to === undefined) return [];
  const id = `local-mode ${stall[0]?.from ?? first.from}`;
  const names = [...new Set(hit.map(({ gateway }) => gateway))];
  const [isOne, isOneProcess] = [names.length === 1, hit.length === 1];
  const who = isOne
    ? `Gateway ${first.gateway}${isOneProcess ? first.worker : ''}`
    : `${names.length} gateways`;
  const processes = isOneProcess ? ' It' : ` ${hit.length} processes of ${names.join(', ')}: each`;
  if (lasting.length > 0) {
    return [
      {
        id,
        severity: 'critical',
        title: `${who} ${isOne ? 'works' : 'work'} without Redis`,
        detail: `Since ${first.from}.${processes} serves known API keys, limits them on its own, and refuses others with 503.`,
        advice: 'Check the network between gateway and Redis.',
        link: alerts('GatewayWithoutRedis'),
      },
    ];
  }
  const seconds = Math.max(1, Math.round((Date.parse(to) - Date.parse(first.from)) / 1000));
  return [
    {
      id,
      severity: 'notice',
      title: `${who} ${isOne ? 'was' : 'were'} without Redis`,
      detail: `For ${seconds} s, until ${to}.${processes} limited known API keys on its own in this time.`,
      advice: 'If it happens again, look at the network to Redis and at slow commands.',
      link: alerts('GatewayWithoutRedis'),
    },
  ];
}
