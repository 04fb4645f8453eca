import type { Logger } from 'pino';

/** Tells operators of values in Redis that can't be used, each once per change and not once per read. */
export interface FaultReport {
  /**
   * @param key the Redis key that holds the value
   * @param faults what is wrong with it; an empty list when all is well (again)
   */
  report(key: string, faults: readonly string[]): void;
  /** Takes back what is wrong with a value that nobody uses any more. */
  forget(key: string): void;
}

interface FaultReportDependencies {
  log: Logger;
  /** Sets the metric gateway_bad_settings. The label of all records together is gw:key, lest it grows with them. */
  gauge: (label: string, faults: number) => void;
}

export function createFaultReport({ log, gauge }: FaultReportDependencies): FaultReport {
  const known = new Map<string, readonly string[]>();

  function countFaults(label: string): number {
    return Array.from(known).reduce(
      (sum, [key, faults]) => sum + (labelOf(key) === label ? faults.length : 0),
      0,
    );
  }

  function forget(key: string): void {
    if (known.delete(key)) gauge(labelOf(key), countFaults(labelOf(key)));
  }

  return {
    forget,
    report(key, faults) {
      const text = faults.join('; ');
      if (text === (known.get(key) ?? []).join('; ')) return;
      if (text === '') {
        forget(key);
        log.info({ key }, 'Redis value is usable again');
      } else {
        known.set(key, faults);
        gauge(labelOf(key), countFaults(labelOf(key)));
        log.error({ key, faults }, 'Redis value is unusable: the last good one stays in force');
      }
    },
  };
}

/** The Redis key up to its hash tag, which names one API key. */
function labelOf(key: string): string {
  return key.replace(/:\{.*$/, '');
}
