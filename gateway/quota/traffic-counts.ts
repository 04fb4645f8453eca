import type { Counter } from '@prometheus-io/client';
import type { Metrics } from '../platform/observability/metrics.ts';
import { bucketCounts } from '../platform/observability/request-metrics.ts';

/**
 * Counts of a time span by field, as a minute of the record has them: requests by class of status and plan (`2xx:free`),
 * requests over a limit or during a ban by plan (`refused:free`), and served requests by the upper bound of their duration in
 * milliseconds (`ms:2.5`, `ms:inf`).
 */
export type TrafficCounts = Map<string, number>;

/** Reads what this process has counted since its start, so that the record costs no request anything. */
export async function readTrafficCounts(
  metrics: Pick<Metrics, 'requests' | 'quotaRefusals' | 'bannedRequests'>,
): Promise<TrafficCounts> {
  const counts: TrafficCounts = new Map();
  const add = (field: string, count: number) => {
    if (count > 0) counts.set(field, (counts.get(field) ?? 0) + count);
  };
  const { requests, seconds } = metrics.requests;
  for (const { labels, value } of await countsOf(requests))
    add(`${labels['status']}:${labels['plan']}`, value);
  for (const { bound, count } of await bucketCounts(seconds)) add(`ms:${formatBound(bound)}`, count);
  for (const counter of [metrics.quotaRefusals, metrics.bannedRequests]) {
    for (const { labels, value } of await countsOf(counter)) add(`refused:${labels['plan']}`, value);
  }
  return counts;
}

/** The library's own type of labels allows only one of several. */
async function countsOf<Label extends string>(
  counter: Counter<Label>,
): Promise<{ labels: Partial<Record<string, string | number>>; value: number }[]> {
  return (await counter.get()).values;
}

/** Counts that were added since the earlier reading. */
export function countsSince(earlier: TrafficCounts | undefined, counts: TrafficCounts): TrafficCounts {
  const added = Array.from(counts, ([field, count]): [string, number] => [
    field,
    count - (earlier?.get(field) ?? 0),
  ]);
  return new Map(added.filter(([, count]) => count > 0));
}

/** Splits a field. A name, such as that of a plan, may have further colons. */
export function parseField(field: string): [kind: string, name: string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon), field.slice(colon + 1)];
}

/** @param seconds upper bound of a duration */
export function formatBound(seconds: number): string {
  return seconds === Infinity ? 'inf' : String(Math.round(seconds * 1e6) / 1000);
}

/** @returns the upper bound in milliseconds */
export function parseBound(name: string): number {
  return name === 'inf' ? Infinity : Number(name);
}
