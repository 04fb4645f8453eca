import type { Logger } from 'pino';
import type { PetsError } from './errors.ts';

const minuteMs = 60_000;

export interface RequestFailure {
  requestId: string | undefined;
  error: PetsError;
}

/**
 * Logs requests that fail because the database is unavailable: the first one with its cause, and then once a minute how
 * many there were. The access log has each of them.
 */
export function createFailureLog(log: Logger): (failure: RequestFailure) => void {
  let further = 0;
  let timer: NodeJS.Timeout | undefined;

  function logFurther(): void {
    timer = undefined;
    if (further === 0) return;
    log.error({ requests: further }, 'requests failed in the last minute: the database is unavailable');
    further = 0;
    timer = setTimeout(logFurther, minuteMs).unref();
  }

  return function logFailure({ requestId, error }) {
    if (timer !== undefined) {
      further += 1;
      return;
    }
    log.error({ requestId, code: error.code, err: error.cause }, error.message);
    timer = setTimeout(logFurther, minuteMs).unref();
  };
}
