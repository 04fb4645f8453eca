import type { TrafficPoint } from '../operations/traffic.ts';
import type { Row } from './output.ts';

export const trafficHeadings = [
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
];

/** Counts of one point, with the latency of served requests, for the headings above. */
export function trafficRow(point: TrafficPoint): Row {
  const { at, byStatus, latencyMs, refusals, bans, bannedRequests, localDecisions } = point;
  return [
    at.replace('.000Z', 'Z'),
    perSecond(point, point.requests).toFixed(2),
    ...['2xx', '3xx', '4xx', '5xx', 'aborted', 'cut_off'].map((status) => byStatus[status] ?? 0),
    rounded(latencyMs.served?.p50),
    rounded(latencyMs.served?.p99),
    refusals.minute + refusals.day,
    bans,
    bannedRequests,
    localDecisions,
  ];
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
