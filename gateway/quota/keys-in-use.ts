/** Which API keys are in use, and which of them had a request refused, minute by minute. */
export interface KeysInUse {
  /** Adds a key that had requests in the minute under way. */
  add(id: string, plan: string, refused: boolean): void;
  /** Ends the minute under way, and reports it. Every plan that was ever in use is part of each report. */
  endMinute(): void;
}

/** @param active number of keys with requests; `refused` of those that had one refused */
type ReportKeys = (plan: string, counts: { active: number; refused: number }) => void;

/** Further keys of a minute are not counted, so that memory stays bounded: 100,000 keys take 8 MB. */
const maxKeys = 100_000;

export function createKeysInUse(report: ReportKeys): KeysInUse {
  const plans = new Set<string>();
  let keys = new Map<string, { plan: string; refused: boolean }>();
  return {
    add(id, plan, refused) {
      const key = keys.get(id);
      if (key !== undefined) key.refused ||= refused;
      else if (keys.size < maxKeys) keys.set(id, { plan, refused });
      plans.add(plan);
    },
    endMinute() {
      const counts = new Map(Array.from(plans, (plan) => [plan, { active: 0, refused: 0 }]));
      for (const { plan, refused } of keys.values()) {
        const count = counts.get(plan);
        if (count === undefined) continue;
        count.active += 1;
        if (refused) count.refused += 1;
      }
      keys = new Map();
      for (const [plan, count] of counts) report(plan, count);
    },
  };
}
