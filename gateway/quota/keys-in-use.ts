/** Which API keys are in use, and which of them had a request refused, minute by minute. */
export interface KeysInUse {
  /** Adds a key that had requests in the minute under way. */
  add(id: string, plan: string, refused: boolean): void;
  /** Ends the minute under way, and reports it. Every plan that was ever in use is part of each report. */
  endMinute(): void;
}

/** Ids of the keys with requests in a minute, and of those that had one refused. */
export interface MinuteOfKeys {
  active: string[];
  refused: string[];
}

type ReportKeys = (plan: string, counts: { active: number; refused: number }, keys: MinuteOfKeys) => void;

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
      const byPlan = new Map(
        Array.from(plans, (plan): [string, MinuteOfKeys] => [plan, { active: [], refused: [] }]),
      );
      for (const [id, { plan, refused }] of keys) {
        byPlan.get(plan)?.active.push(id);
        if (refused) byPlan.get(plan)?.refused.push(id);
      }
      keys = new Map();
      for (const [plan, ofPlan] of byPlan)
        report(plan, { active: ofPlan.active.length, refused: ofPlan.refused.length }, ofPlan);
    },
  };
}
