import { redisKeys } from '../redis/redis-keys.ts';
import type { TrafficCounts } from './traffic-fields.ts';

/** Time span whose traffic is in one Redis key. */
export interface TrafficResolution {
  name: '10s' | '1m';
  stepMs: number;
  /** Time that buckets go back, at least. */
  keptMs: number;
}

const hourMs = 3_600_000;

export const tenSeconds: TrafficResolution = { name: '10s', stepMs: 10_000, keptMs: hourMs };
export const oneMinute: TrafficResolution = { name: '1m', stepMs: 60_000, keptMs: 7 * 24 * hourMs };

/** Buckets are kept this long beyond, because a chart begins at a multiple of its step. */
const extraMs: Record<TrafficResolution['name'], number> = { '10s': 300_000, '1m': hourMs };

export interface TrafficBucket {
  /** Unix milliseconds by Redis' clock: a multiple of ten seconds. */
  startMs: number;
  counts: TrafficCounts;
}

/** Counts to be added to one Redis key. */
export interface KeyedCounts {
  key: string;
  expiresAtSeconds: number;
  counts: TrafficCounts;
}

/** Groups buckets of ten seconds by the Redis keys of both resolutions. */
export function groupByKey(buckets: readonly TrafficBucket[]): KeyedCounts[] {
  const byKey = new Map<string, KeyedCounts>();
  for (const { name, stepMs, keptMs } of [tenSeconds, oneMinute]) {
    for (const { startMs, counts } of buckets) {
      const start = Math.floor(startMs / stepMs) * stepMs;
      const key = redisKeys.trafficBucket(name, start);
      const expiresAtSeconds = (start + stepMs + keptMs + extraMs[name]) / 1000;
      const entry = byKey.get(key) ?? { key, expiresAtSeconds, counts: new Map<string, number>() };
      for (const [field, count] of counts) entry.counts.set(field, (entry.counts.get(field) ?? 0) + count);
      byKey.set(key, entry);
    }
  }
  return [...byKey.values()];
}
