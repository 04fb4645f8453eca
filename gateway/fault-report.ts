import type { Logger } from 'pino';

/** Tells operators of values in Redis that can't be used, each once per change and not once per read. */
export interface FaultReport {
  /**
   * @param key the Redis key that holds the value
   * @param faults what is wrong with it; an empty list when all is well (again)
   */
  report(key: string, faults: readonly string[]): void;
}

interface FaultReportDependencies {
  log: Logger;
  /** Sets the metric gateway_bad_settings: number of faults per Redis key. */
  gauge: (key: string, faults: number) => void;
}

export function createFaultReport({ log, gauge }: FaultReportDependencies): FaultReport {
  const known = new Map<string, string>();
  return {
    report(key, faults) {
      const text = faults.join('; ');
      if (text === (known.get(key) ?? '')) return;
      gauge(key, faults.length);
      if (text === '') {
        known.delete(key);
        log.info({ key }, 'Redis value is usable again');
      } else {
        known.set(key, text);
        log.error({ key, faults }, 'Redis value is unusable: the last good one stays in force');
      }
    },
  };
}
