import { format } from 'node:util';
import type { Logger } from 'pino';
import { createLogThrottle } from './log-throttle.ts';

/**
 * Turns lines that libraries print to the console, and Node's warnings, into lines of the log, each once a minute. So
 * every line of the output is JSON, whatever prints it.
 */
export function logConsoleLines(log: Logger): void {
  const isDue = createLogThrottle();
  const warn = (...args: unknown[]) => {
    const printed = format(...args);
    if (isDue(printed)) log.warn(printed);
  };
  Object.assign(console, { log: warn, info: warn, warn, error: warn, debug: warn, trace: warn });
  // Node's own listener prints them to standard error.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') warn(`${name}: ${message}`);
  });
}
