import type { Counter } from 'prom-client';
import type { Metrics } from '../observability/metrics.ts';
import { formatBound, formatField, type TrafficCounts, type TrafficKind } from './traffic-fields.ts';

/** Reads what this process has counted since its start, so that the record costs no request anything. */
export async function readTrafficCounters(metrics: TrafficMetrics): Promise<TrafficCounts> {
  const counts: TrafficCounts = new Map();
  const add = (kind: TrafficKind, status: string, name: string, count: number): void => {
    const field = formatField({ kind, status, name });
    if (count > 0) counts.set(field, (counts.get(field) ?? 0) + count);
  };
  const { requests, durations } = metrics.requests.totals();
  for (const { status, plan, count } of requests) add('requests', status, plan, count);
  for (const { status, buckets } of durations) {
    for (const { bound, count } of buckets) {
      add('durations', status, formatBound(bound), count);
    }
  }
  for (const { labels, value } of (await metrics.quotaRefusals.get()).values) {
    add('refusals', String(labels.window), String(labels.plan), value);
  }
  await addByPlan('bans', metrics.bans);
  await addByPlan('bannedRequests', metrics.bannedRequests);
  await addByPlan('unauthenticated', metrics.unauthenticatedRequests);
  await addByPlan('blockedRequests', metrics.blockedRequests);
  await addByPlan('localDecisions', metrics.localDecisions);
  return counts;

  async function addByPlan(kind: TrafficKind, counter: Counter<'plan'>): Promise<void> {
    for (const { labels, value } of (await counter.get()).values) add(kind, '', String(labels.plan), value);
  }
}

export type TrafficMetrics = Pick<
  Metrics,
  | 'requests'
  | 'quotaRefusals'
  | 'bans'
  | 'bannedRequests'
  | 'unauthenticatedRequests'
  | 'blockedRequests'
  | 'localDecisions'
>;

/** Counts that were added since the earlier reading. */
export function countsSince(earlier: TrafficCounts, counts: TrafficCounts): TrafficCounts {
  const added: TrafficCounts = new Map();
  for (const [field, count] of counts) {
    const difference = count - (earlier.get(field) ?? 0);
    if (difference > 0) added.set(field, difference);
  }
  return added;
}
