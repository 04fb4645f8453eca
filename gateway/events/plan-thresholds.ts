import {
  defaultThresholds,
  parseThresholds,
  thresholdsIssue,
  type Thresholds,
} from '../limits/thresholds.ts';
import type { InvalidValues } from '../observability/invalid-values.ts';
import type { HashReader } from '../redis/hash-reader.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/** Field of the thresholds of plans that have none of their own. No plan can have this name. */
export const otherPlans = '*';

export interface PlanThresholds {
  /** Those of its plan, or else of all plans, and its own ones, ascending: operators get events at all of them. */
  of(customer: { plan: string; thresholds?: Thresholds | undefined }): Thresholds;
  /** Reads them again. Never rejects: an unreadable or invalid value leaves the last valid ones. */
  refresh(): Promise<void>;
}

interface PlanThresholdsDependencies {
  hashes: Pick<HashReader, 'read'>;
  invalidValues: Pick<InvalidValues, 'report'>;
}

export function createPlanThresholds(dependencies: PlanThresholdsDependencies): PlanThresholds {
  const { hashes, invalidValues } = dependencies;
  let byPlan = new Map<string, Thresholds>();

  return {
    of({ plan, thresholds: own = [] }) {
      const ofPlan = byPlan.get(plan) ?? byPlan.get(otherPlans) ?? defaultThresholds;
      if (own.every((share) => ofPlan.includes(share))) return ofPlan;
      return [...new Set([...ofPlan, ...own])].toSorted((one, other) => one - other);
    },
    async refresh() {
      let fields: Record<string, string>;
      try {
        fields = await hashes.read(redisKeys.thresholds);
      } catch (error) {
        if (isWrongType(error)) invalidValues.report(redisKeys.thresholds, ['is not a hash']);
        return;
      }
      const read = new Map<string, Thresholds>();
      const issues: string[] = [];
      for (const [plan, text] of Object.entries(fields)) {
        const parsed = parseThresholds(text);
        if (parsed === undefined) issues.push(`${plan} ${thresholdsIssue}`);
        const thresholds = parsed ?? byPlan.get(plan);
        if (thresholds !== undefined) read.set(plan, thresholds);
      }
      byPlan = read;
      invalidValues.report(redisKeys.thresholds, issues);
    },
  };
}
