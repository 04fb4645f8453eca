import { z } from 'zod';
import { anonymousPlan, defaultPlans, enterprisePlan } from '../plans/plan-settings.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { oneMinute, tenSeconds, type TrafficResolution } from '../traffic/traffic-buckets.ts';
import { parseField, type TrafficCounts } from '../traffic/traffic-fields.ts';
import { maxReportDelayMs, reportMs } from '../traffic/traffic-reporter.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { unknownPlan } from './plan-names.ts';
import type { Session } from './session.ts';
import { summarizeTraffic, trafficSummarySchema } from './traffic-summary.ts';

export interface TrafficRange {
  /** Unix milliseconds by Redis' clock. The first point begins at a multiple of the step, mostly the one at or before it. */
  fromMs: number;
  toMs: number;
  /** Whole minutes; or 10, 20 or 30 s within the last hour. */
  stepMs: number;
  /** Counts of this plan only; `none` stands for requests without a valid key. Undefined for all. */
  plan?: string | undefined;
}

/** Traffic of all gateways from a time on. */
const trafficPointSchema = trafficSummarySchema
  .extend({
    at: z.iso.datetime().describe('Beginning'),
    seconds: z.number().describe('Time that the counts cover: a step, or less in the newest point'),
  })
  .meta({ id: 'TrafficPoint' });

export type TrafficPoint = z.infer<typeof trafficPointSchema>;

export const trafficSchema = z
  .object({
    stepMs: z.int(),
    points: z
      .array(trafficPointSchema)
      .describe('One for each step, oldest first; without traffic its counts are 0'),
    total: trafficPointSchema.describe('All points together'),
    plans: z
      .array(z.string())
      .describe('All plans with traffic in the range, whichever the points are about'),
    issues: z
      .array(z.object({ key: z.string(), issue: z.string() }))
      .describe('What was edited by hand in the record, and is therefore missing'),
  })
  .meta({ id: 'Traffic' });

export type Traffic = z.infer<typeof trafficSchema>;

/** Redis executes the commands of a batch one after another: 1 to 2 ms, in which requests wait. */
const batchSize = 100;
const maxIssues = 10;
/** A range may have been made a while ago. The record has more than this beyond (traffic-buckets.ts). */
const toleranceMs = 60_000;

/**
 * Reads the record of traffic. Counts are exact; they appear within seven seconds, and those of an outage of Redis after it.
 * @throws InvalidOperation for a range or a step that the record does not have, and for a plan that does not exist
 */
export async function readTraffic({ redis, now }: Session, range: TrafficRange): Promise<Traffic> {
  const { stepMs, plan } = range;
  const resolution = resolutionFor(range, now());
  // Until then all reports have come.
  const completeMs = Math.floor((now() - 1.2 * maxReportDelayMs) / reportMs) * reportMs;
  const toMs = Math.min(range.toMs, completeMs);
  const fromMs = firstPoint(range, now() - resolution.keptMs - toleranceMs);
  const starts = Array.from(
    { length: Math.max(0, Math.ceil((toMs - fromMs) / stepMs)) },
    (_, index) => fromMs + index * stepMs,
  );
  const counts = new Map(starts.map((start): [number, TrafficCounts] => [start, new Map()]));
  const allCounts: TrafficCounts = new Map();
  const issues: Traffic['issues'] = [];
  const isField = createFieldCheck();
  for await (const { startMs, key, fields } of readBuckets(redis, resolution, fromMs, toMs)) {
    if (typeof fields === 'string') {
      issues.push({ key, issue: fields });
      continue;
    }
    const sums = counts.get(Math.floor(startMs / stepMs) * stepMs);
    for (const [field, text] of Object.entries(fields)) {
      const count = Number(text);
      if (!isField(field) || !Number.isSafeInteger(count) || count < 0) {
        issues.push({ key, issue: `field ${field} is not a count` });
        continue;
      }
      sums?.set(field, (sums.get(field) ?? 0) + count);
    }
  }
  for (const sums of counts.values()) {
    for (const [field, count] of sums) allCounts.set(field, (allCounts.get(field) ?? 0) + count);
  }
  const plans = Object.keys(summarizeTraffic(allCounts, undefined).byPlan).toSorted();
  if (plan !== undefined && !plans.includes(plan)) await assertPlan(redis, plan, plans);
  const pointOf = (start: number, end: number, sums: TrafficCounts): TrafficPoint => ({
    at: new Date(start).toISOString(),
    seconds: (end - start) / 1000,
    ...summarizeTraffic(sums, plan),
  });
  return {
    stepMs,
    points: Array.from(counts, ([start, sums]) => pointOf(start, Math.min(start + stepMs, toMs), sums)),
    total: pointOf(fromMs, Math.max(fromMs, toMs), allCounts),
    plans,
    issues: issues.slice(0, maxIssues),
  };
}

/** @returns the multiple of the step at or before the range; the next one if the record does not reach that far back */
function firstPoint({ fromMs, stepMs }: TrafficRange, oldestMs: number): number {
  const startMs = Math.floor(fromMs / stepMs) * stepMs;
  return startMs < oldestMs ? startMs + stepMs : startMs;
}

/** @throws InvalidOperation */
function resolutionFor({ fromMs, toMs, stepMs }: TrafficRange, nowMs: number): TrafficResolution {
  const resolution = stepMs < oneMinute.stepMs ? tenSeconds : oneMinute;
  const isWhole = stepMs > 0 && stepMs % resolution.stepMs === 0 && (24 * 3_600_000) % stepMs === 0;
  if (!isWhole) {
    throw new InvalidOperation(
      `the step of ${stepMs / 1000} s must divide a day, and be 10 s, 20 s, 30 s or whole minutes`,
    );
  }
  if (!(fromMs < toMs)) throw new InvalidOperation('the range must end after it begins');
  if (fromMs < nowMs - resolution.keptMs - toleranceMs) {
    throw new InvalidOperation(
      resolution === tenSeconds
        ? 'steps below a minute reach back an hour: choose a shorter range, or a step of whole minutes'
        : 'the record of traffic reaches back 7 days: choose a shorter range',
    );
  }
  return resolution;
}

/** A plan that was removed may still have traffic, and a new one may have none. @throws InvalidOperation */
async function assertPlan(redis: RedisClient, plan: string, withTraffic: readonly string[]): Promise<void> {
  if (plan === anonymousPlan) {
    throw new InvalidOperation(
      'the plan anonymous limits requests without a valid key: their traffic is that of "none"',
    );
  }
  const stored = await redis.smembers(redisKeys.planNames).catch(() => []);
  const names = ['none', ...Object.keys(defaultPlans), enterprisePlan, ...stored, ...withTraffic];
  if (!names.includes(plan)) throw unknownPlan(plan, names);
}

/** Checks each field once: 7 days have hundreds of thousands, of which less than a hundred are different. */
function createFieldCheck(): (field: string) => boolean {
  const known = new Map<string, boolean>();
  return function isField(field) {
    const isKnown = known.get(field) ?? parseField(field) !== undefined;
    known.set(field, isKnown);
    return isKnown;
  };
}

interface ReadBucket {
  startMs: number;
  key: string;
  /** What is wrong with the key, if it cannot be read. */
  fields: Record<string, string> | string;
}

async function* readBuckets(
  redis: RedisClient,
  { name, stepMs }: TrafficResolution,
  fromMs: number,
  toMs: number,
): AsyncGenerator<ReadBucket> {
  for (let batchMs = fromMs; batchMs < toMs; batchMs += batchSize * stepMs) {
    const size = Math.min(batchSize, Math.ceil((toMs - batchMs) / stepMs));
    yield* await Promise.all(
      Array.from({ length: size }, async (_, index): Promise<ReadBucket> => {
        const startMs = batchMs + index * stepMs;
        const key = redisKeys.trafficBucket(name, startMs);
        return { startMs, key, fields: await readFields(redis, key) };
      }),
    );
  }
}

async function readFields(redis: RedisClient, key: string): Promise<ReadBucket['fields']> {
  try {
    return await redis.hgetall(key);
  } catch (error) {
    // The next report replaces it; an older one stays until it expires.
    if (isWrongType(error)) return 'is not a hash, and its traffic is lost: DEL it';
    throw error;
  }
}
