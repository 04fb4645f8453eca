import type { Logger } from 'pino';

/** Reports invalid values in Redis to operators, once for each change and not for each read. */
export interface InvalidValues {
  /**
   * @param key Redis key that holds the value
   * @param issues what is wrong with it; an empty list if it is valid (again)
   */
  report(key: string, issues: readonly string[]): void;
  /** Withdraws the report of a value that nobody uses any more. */
  forget(key: string): void;
}

interface InvalidValuesDependencies {
  log: Logger;
  /** Sets the metric gateway_bad_settings. All records share the label gw:key, so that it does not grow with them. */
  setGauge: (label: string, issues: number) => void;
}

export function createInvalidValues({ log, setGauge }: InvalidValuesDependencies): InvalidValues {
  const known = new Map<string, readonly string[]>();

  function countIssues(label: string): number {
    return Array.from(known).reduce(
      (sum, [key, issues]) => sum + (labelOf(key) === label ? issues.length : 0),
      0,
    );
  }

  function forget(key: string): void {
    if (known.delete(key)) setGauge(labelOf(key), countIssues(labelOf(key)));
  }

  return {
    forget,
    report(key, issues) {
      const text = issues.join('; ');
      if (text === (known.get(key) ?? []).join('; ')) return;
      if (text === '') {
        forget(key);
        log.info({ key }, 'Redis value is valid again');
      } else {
        known.set(key, issues);
        setGauge(labelOf(key), countIssues(labelOf(key)));
        log.error({ key, issues }, 'Redis value is invalid; the last valid one stays in force');
      }
    },
  };
}

/** The Redis key up to its hash tag, which identifies one API key. */
function labelOf(key: string): string {
  return key.replace(/:\{.*$/, '');
}
