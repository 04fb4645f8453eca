import { tenSeconds, type TrafficBucket } from './traffic-buckets.ts';
import { addCount, requestsIn, type TrafficCounts } from './traffic-fields.ts';

/** Traffic that is not in Redis yet. */
export interface PendingTraffic {
  /** Adds counts to the bucket of a time, in Unix milliseconds by Redis' clock. */
  add(atMs: number, counts: TrafficCounts): void;
  /** Takes the oldest buckets, as many as one report has. Empty if there are none. */
  take(): TrafficBucket[];
  /** Drops buckets that began before a time. @returns the number of requests in them */
  dropBefore(ms: number): number;
  /** Number of pending requests. */
  requests(): number;
}

/** Limits of one report, which Redis adds in some 3 ms at most: five minutes, or this number of fields. */
const maxReportedBuckets = 30;
const maxReportedFields = 2000;

export function createPendingTraffic(): PendingTraffic {
  const buckets = new Map<number, TrafficCounts>();
  const oldestFirst = () =>
    Array.from(buckets, ([startMs, counts]) => ({ startMs, counts })).toSorted(
      (one, other) => one.startMs - other.startMs,
    );

  return {
    add(atMs, counts) {
      if (counts.size === 0) return;
      const startMs = Math.floor(atMs / tenSeconds.stepMs) * tenSeconds.stepMs;
      const bucket = buckets.get(startMs) ?? new Map<string, number>();
      for (const [field, count] of counts) addCount(bucket, field, count);
      buckets.set(startMs, bucket);
    },
    take() {
      const taken: TrafficBucket[] = [];
      let fields = 0;
      for (const bucket of oldestFirst().slice(0, maxReportedBuckets)) {
        fields += bucket.counts.size;
        if (taken.length > 0 && fields > maxReportedFields) break;
        taken.push(bucket);
        buckets.delete(bucket.startMs);
      }
      return taken;
    },
    dropBefore(ms) {
      let requests = 0;
      for (const [startMs, counts] of buckets) {
        if (startMs >= ms) continue;
        requests += requestsIn(counts);
        buckets.delete(startMs);
      }
      return requests;
    },
    requests: () => Array.from(buckets.values()).reduce((sum, counts) => sum + requestsIn(counts), 0),
  };
}
