import { readOnlyAudit } from '../../../gateway/operations/session.ts';
import type { PlanTraffic } from '../../../gateway/operations/traffic-summary.ts';
import { readTraffic, type TrafficPoint } from '../../../gateway/operations/traffic.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';

/** A session a few seconds ahead, for which all reports so far have come. */
export function sessionAhead(redis: RedisClient) {
  return { redis, audit: readOnlyAudit, now: () => Date.now() + 20_000 };
}

/** Everything in the record of the last half hour. */
export async function recordedTraffic(redis: RedisClient): Promise<TrafficPoint> {
  const nowMs = Date.now();
  const range = { fromMs: nowMs - 1_800_000, toMs: nowMs + 60_000, stepMs: 60_000 };
  return (await readTraffic(sessionAhead(redis), range)).total;
}

/** Counts of a plan; all 0 for a plan without traffic. */
export async function recordedOf(redis: RedisClient, plan: string): Promise<PlanTraffic | undefined> {
  return (await recordedTraffic(redis)).byPlan[plan];
}
