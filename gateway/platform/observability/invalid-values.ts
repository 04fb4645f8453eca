import type { Logger } from 'pino';
import { z } from 'zod';

/** Where the value comes from that is in force instead of an invalid one. */
export const valueSource = z.enum(['last_valid', 'default', 'none']);

export type ValueSource = z.infer<typeof valueSource>;

const messages: Record<ValueSource, string> = {
  last_valid: 'Redis value is invalid; the last valid one stays in force',
  default: 'Redis value is invalid, and no running gateway has another one; the built-in default is in force',
  none: 'Redis value is invalid, and this gateway knows no valid one; API keys that need it get 503',
};

interface InvalidValue {
  key: string;
  issues: string[];
  inForce: ValueSource;
}

export type InvalidValues = ReturnType<typeof createInvalidValues>;

/**
 * Reports invalid values in Redis to operators, once for each change and not for each read.
 * @param setGauge sets the metric. All records of keys share the label gw:key, so that it does not grow with them
 */
export function createInvalidValues(log: Logger, setGauge: (label: string, issues: number) => void) {
  const known = new Map<string, InvalidValue>();
  /** Labels of values that were read, which the metric shows at 0 while all is well. */
  const labels = new Set<string>();

  function countIssues(label: string): number {
    return Array.from(known).reduce(
      (sum, [key, { issues }]) => sum + (labelOf(key) === label ? issues.length : 0),
      0,
    );
  }

  return {
    /** Withdraws the report of a value that nobody uses any more. */
    forget(key: string): void {
      if (known.delete(key)) setGauge(labelOf(key), countIssues(labelOf(key)));
    },
    /** What is invalid now, oldest report first. */
    list: () => [...known.values()],
    /**
     * @param key Redis key that holds the value
     * @param issues what is wrong with it; an empty list if it is valid (again)
     * @param inForce what is in force instead, by default the last valid value; `enforced` is logged
     */
    report(
      key: string,
      issues: string[],
      { enforced, source = 'last_valid' }: { enforced?: unknown; source?: ValueSource } = {},
    ): void {
      const label = labelOf(key);
      const text = issues.join('; ');
      const before = known.get(key)?.issues.join('; ') ?? '';
      if (text === '') known.delete(key);
      else known.set(key, { key, issues, inForce: source });
      if (text === before && labels.has(label)) return;
      labels.add(label);
      setGauge(label, countIssues(label));
      if (text === before) return;
      if (text === '') log.info({ key }, 'Redis value is valid again');
      else log.warn({ key, issues, enforced }, messages[source]);
    },
  };
}

/** The Redis key without what identifies one API key: its hash tag and what follows. */
function labelOf(key: string): string {
  return key.split(':{', 1)[0] ?? key;
}
