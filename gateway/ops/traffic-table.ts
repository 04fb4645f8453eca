import { fieldOf, windowNames } from '../limits/windows.ts';
import { allRefusals } from '../operations/traffic-summary.ts';
import type { TrafficPoint } from '../operations/traffic.ts';
import { fieldColumns, type ListLayout } from './list-output.ts';

/** Statuses that have a column, by its name. */
const statuses = {
  '2xx': '2xx',
  '3xx': '3xx',
  '4xx': '4xx',
  '5xx': '5xx',
  aborted: 'aborted',
  cutOff: 'cut_off',
};

/** A line for each point: its counts, and the latency of served requests. */
export const trafficLayout: ListLayout<TrafficPoint> = {
  headings: [
    'FROM',
    'REQ/S',
    '2XX',
    '3XX',
    '4XX',
    '5XX',
    'ABORTED',
    'CUT OFF',
    'P50 MS',
    'P99 MS',
    'REFUSED',
    'BANS',
    'BANNED',
    'LOCAL',
    'NO KEY',
    'BLOCKED',
  ],
  row: (point) => [
    point.at.replace('.000Z', 'Z'),
    perSecond(point, point.requests).toFixed(2),
    ...Object.values(statuses).map((status) => point.byStatus[status] ?? 0),
    rounded(point.latencyMs.served?.p50),
    rounded(point.latencyMs.served?.p99),
    allRefusals(point.refusals),
    point.bans,
    point.bannedRequests,
    point.localDecisions,
    point.unauthenticated ?? 0,
    point.blockedRequests ?? 0,
  ],
  csv: {
    ...fieldColumns<TrafficPoint>('at', 'seconds', 'requests'),
    ...statusColumns(),
    p50Ms: ({ latencyMs }) => latencyMs.served?.p50,
    p99Ms: ({ latencyMs }) => latencyMs.served?.p99,
    ...Object.fromEntries(
      windowNames.map((name) => [
        fieldOf('refused', name),
        ({ refusals }: TrafficPoint) => refusals[name] ?? 0,
      ]),
    ),
    ...fieldColumns<TrafficPoint>('bans', 'bannedRequests', 'localDecisions'),
  },
};

function statusColumns(): ListLayout<TrafficPoint>['csv'] {
  return Object.fromEntries(
    Object.entries(statuses).map(([column, status]) => [column, ({ byStatus }) => byStatus[status] ?? 0]),
  );
}

/** Rounds to three digits: within a bucket, a quantile is interpolated. */
function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Number(ms.toPrecision(3));
}

/** @param count of this point */
export function perSecond({ seconds }: TrafficPoint, count: number): number {
  return seconds > 0 ? count / seconds : 0;
}

/** Formats a duration as it is given on the command line, in the largest unit that is exact. */
export function describeDuration(ms: number): string {
  const units = [
    { unit: 'd', unitMs: 86_400_000 },
    { unit: 'h', unitMs: 3_600_000 },
    { unit: 'm', unitMs: 60_000 },
  ];
  const exact = units.find(({ unitMs }) => ms % unitMs === 0);
  return exact === undefined ? `${ms / 1000}s` : `${ms / exact.unitMs}${exact.unit}`;
}
