import { z } from 'zod';
import type { CustomerRecord } from '../api-keys/customer-record.ts';
import type { Limits } from '../limits/limits.ts';
import { countFields } from '../limits/window-fields.ts';
import { fieldOf, windowNames, type CountsByWindow, type WindowName } from '../limits/windows.ts';
import { trialLimitsOf, type Trial } from '../plans/trial.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import type { ListedApiKey } from './keys.ts';

/** Counts of a trial. Its requests are all that Redis decided, except during a ban. */
export const trialCounts = {
  requests: z.int().describe('Requests during the trial'),
  ...countFields('refused', 'Requests that it would have refused'),
};

/** Counts of all keys that are on the trial of a plan. */
export const planTrialReportSchema = z.object({
  keys: z
    .int()
    .describe('Keys on the trial: those without a trial and limits of their own, also revoked ones'),
  activeKeys: z.int().describe('Of these, keys of customers with requests during the trial'),
  refusedKeys: z.int().describe('Of these, keys of customers of which requests would have been refused'),
  ...trialCounts,
  hardestHit: z
    .array(z.object({ id: z.string(), name: z.string(), ...trialCounts }))
    .describe(
      'Customers with the most requests that would have been refused, most first; none that had none',
    ),
});

const countsSchema = z.object(trialCounts);
export type TrialCounts = z.infer<typeof countsSchema>;
export type PlanTrialReport = z.infer<typeof planTrialReportSchema>;

interface PlanTrialReportOptions {
  redis: RedisClient;
  /** All keys, in pages. */
  keys: AsyncIterable<ListedApiKey[]>;
  plan: string;
  /** Limits of the plan. */
  limits: Limits;
  trial: Trial;
  /** Maximum number of keys in `hardestHit`. */
  count: number;
}

/** Sums the counts of the plan's keys, page by page. Changes nothing. */
export async function reportPlanTrial(options: PlanTrialReportOptions): Promise<PlanTrialReport> {
  const { redis, keys, plan, limits, trial, count } = options;
  const report: PlanTrialReport = { ...noCounts, keys: 0, activeKeys: 0, refusedKeys: 0, hardestHit: [] };
  const seen = new Set<CustomerId>();
  for await (const page of keys) {
    const onTrial = page.flatMap((key) =>
      key.outcome === 'record' && key.customer.plan === plan && isOnPlanTrial(key.customer, trial, limits)
        ? [key.customer]
        : [],
    );
    const counts = await Promise.all(onTrial.map(({ id }) => readTrialCounts(redis, id, trial.since)));
    report.keys += onTrial.length;
    for (const [index, customer] of onTrial.entries()) {
      const found = counts[index] ?? noCounts;
      if (found.requests > 0) report.activeKeys += 1;
      if (refusedByTrial(found) > 0) report.refusedKeys += 1;
      // Counts are those of the customer, whatever the number of its keys.
      if (!seen.has(customer.id)) add(report, customer, found);
      seen.add(customer.id);
    }
    report.hardestHit = report.hardestHit.toSorted(byRefusals).slice(0, count);
  }
  return report;
}

const noCounts: TrialCounts = { requests: 0, refusedMinute: 0, refusedDay: 0 };

/** @param since start of the trial in Unix milliseconds: counts of another one are none of it */
export async function readTrialCounts(
  redis: RedisClient,
  customerId: CustomerId,
  since: number,
): Promise<TrialCounts> {
  const fields = windowNames.map((name) => fieldOf('refused', name));
  const reply = redis.hmget(redisKeys.trial(customerId), 'since', 'requests', ...fields);
  // The key's next request replaces another type of value.
  const [sinceText, requests, ...refused] = await unlessWrongType(reply, []);
  if (sinceText !== String(since)) return noCounts;
  const counts = { ...noCounts, requests: parseCount(requests) };
  for (const [index, field] of fields.entries()) addRefused(counts, field, parseCount(refused[index]));
  return counts;
}

/** Refused requests of each required window, and of others that have refused some. */
export function refusalsByWindow(counts: TrialCounts): [WindowName, number][] {
  return windowNames.flatMap((name) => {
    const refused = counts[fieldOf('refused', name)];
    return refused === undefined ? [] : [[name, refused]];
  });
}

export function refusedByTrial(counts: TrialCounts): number {
  return refusalsByWindow(counts).reduce((sum, [, refused]) => sum + refused, 0);
}

/** The counts with all that would have been refused, and its share of the requests from 0 to 1. */
export function withRefused<Counts extends TrialCounts>(counts: Counts) {
  const refused = refusedByTrial(counts);
  return { ...counts, refused, refusedShare: counts.requests === 0 ? 0 : refused / counts.requests };
}

function addRefused(counts: TrialCounts, field: keyof CountsByWindow<'refused'>, refused: number): void {
  if (refused > 0) counts[field] = (counts[field] ?? 0) + refused;
}

function isOnPlanTrial(record: CustomerRecord, trial: Trial, limits: Limits): boolean {
  return record.trial === undefined && trialLimitsOf(record, trial, limits) !== undefined;
}

function add(report: PlanTrialReport, { id, name }: CustomerRecord, counts: TrialCounts): void {
  report.requests += counts.requests;
  for (const [window, refused] of refusalsByWindow(counts)) {
    addRefused(report, fieldOf('refused', window), refused);
  }
  if (refusedByTrial(counts) === 0) return;
  report.hardestHit.push({ id, name, ...counts });
}

function byRefusals(one: TrialCounts, other: TrialCounts): number {
  return refusedByTrial(other) - refusedByTrial(one) || other.requests - one.requests;
}

/** A count that was edited into anything else is 0, as in trial.lua. */
function parseCount(text: string | null | undefined): number {
  return /^[1-9]\d{0,14}$/.test(text ?? '') ? Number(text) : 0;
}
