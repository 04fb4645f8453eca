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

/**
 * One stall of Redis is one period, however many processes it hit: their times overlap. Stalls that hit the same gateways are
 * one problem.
 */
export function findLocalModeProblems({ nowMs, redis, fleet }: LiveFacts): Problem[] {
  // What others do is unknown without Redis.
  const periods = redis.available ? fleet.gateways.flatMap(localPeriods) : [];
  const problems: LocalPeriod[][][] = [];
  for (const stall of stallsOf(periods)) {
    const same = problems.find((stalls) => stalls.some((other) => shareGateway(other, stall)));
    if (same === undefined) problems.push([stall]);
    else same.push(stall);
  }
  return problems.flatMap((stalls) => Array.from(stallProblem(stalls, nowMs)));
}

/** Times that this gateway itself was without Redis, which it knows also while it is. */
export function countOwnStalls(fleet: LiveFacts['fleet']): { count: number; since: string } | undefined {
  const stalls = stallsOf(fleet.gateways.flatMap(localPeriods));
  const since = stalls[0]?.[0]?.from;
  return since === undefined ? undefined : { count: stalls.length, since };
}

function stallsOf(periods: readonly LocalPeriod[]): LocalPeriod[][] {
  const stalls: LocalPeriod[][] = [];
  for (const period of periods.toSorted((one, other) => one.from.localeCompare(other.from))) {
    const last = stalls.at(-1);
    if (last?.some(({ to }) => to === null || to >= period.from)) last.push(period);
    else stalls.push([period]);
  }
  return stalls;
}

const shareGateway = (one: readonly LocalPeriod[], other: readonly LocalPeriod[]) =>
  one.some(({ gateway }) => other.some((each) => each.gateway === gateway));

function localPeriods(gateway: FleetGateway): LocalPeriod[] {
  return gateway.processes.flatMap(({ state, localMode, earlierLocalModes, worker, startedAt, seenAtMs }) => {
    if (state === 'not_seen' || localMode === null) return [];
    return [...earlierLocalModes, localMode]
      .filter(({ to }) => to === null || (Date.parse(to) >= Date.parse(startedAt) && isRecent(to, seenAtMs)))
      .map(({ from, to }) => ({
        gateway: gatewayName(gateway),
        worker: worker === null ? '' : `, worker ${worker}`,
        from,
        to,
      }));
  });
}

/** @param stalls oldest first */
function* stallProblem(stalls: readonly LocalPeriod[][], nowMs: number): Iterable<Problem> {
  const newest = stalls.at(-1) ?? [];
  const lasting = newest.filter(({ to }) => to === null);
  const hit = lasting.length > 0 ? lasting : newest;
  const [first] = hit;
  const to = endOf(hit);
  if (first === undefined || to === undefined) return;
  const id = `local-mode ${stalls[0]?.[0]?.from ?? first.from}`;
  const names = [...new Set(hit.map(({ gateway }) => gateway))];
  const [isOne, isOneProcess] = [names.length === 1, hit.length === 1];
  const who = isOne
    ? `Gateway ${first.gateway}${isOneProcess ? first.worker : ''}`
    : `${names.length} gateways`;
  const processes = isOneProcess ? ' It' : ` ${hit.length} processes of ${names.join(', ')}: each`;
  const again = describeEarlier(stalls);
  if (lasting.length > 0) {
    yield {
      id,
      severity: 'critical',
      title: `${who} ${isOne ? 'works' : 'work'} without Redis`,
      detail: `Since ${first.from}.${processes} serves known API keys, limits them on its own, and refuses others with 503.${again}`,
      advice: 'Check the network between gateway and Redis.',
      link: alerts('GatewayWithoutRedis'),
    };
    return;
  }
  const isFlapping = stalls.length >= manyStalls;
  const count = stalls.length === 1 ? '' : ` ${stalls.length} times`;
  const problem: Problem = {
    id,
    severity: isFlapping ? 'warning' : 'notice',
    title: `${who} ${isOne ? 'was' : 'were'} without Redis${count}`,
    detail: `For ${inSeconds(msOf(newest))} s, until ${to}.${processes} limited known API keys on its own in this time.${again}`,
    advice: 'If it happens again, look at the network to Redis and at slow commands.',
    link: alerts(isFlapping ? 'GatewayRedisFlapping' : 'GatewayWithoutRedis'),
  };
  yield nowMs - Date.parse(to) > heldMs ? { ...problem, severity: 'notice', past: true } : problem;
}

/** So many stalls in 15 minutes are no accident. */
const manyStalls = 3;
/** Time after its end in which a problem is shown like one that lasts: Redis may go again. */
const heldMs = 3 * 60_000;

function describeEarlier(stalls: readonly LocalPeriod[][]): string {
  if (stalls.length === 1) return '';
  const seconds = inSeconds(stalls.reduce((sum, stall) => sum + msOf(stall), 0));
  return ` It was the ${ordinal(stalls.length)} time since ${stalls[0]?.[0]?.from}, ${seconds} s in all.`;
}

const ordinal = (count: number) => (count === 2 ? 'second' : count === 3 ? 'third' : `${count}th`);

/** Of a stall that has ended; 0 while it lasts. */
function msOf(stall: readonly LocalPeriod[]): number {
  const [to, from] = [endOf(stall), stall[0]?.from];
  if (to === undefined || to === '' || from === undefined) return 0;
  return Date.parse(to) - Date.parse(from);
}

const inSeconds = (ms: number) => Math.max(1, Math.round(ms / 1000));

const endOf = (stall: readonly LocalPeriod[]) =>
  stall
    .map(({ to }) => to ?? '')
    .toSorted()
    .at(-1);
