import { format } from 'node:util';
import type { Logger } from 'pino';
import { createLogThrottle } from './log-throttle.ts';

/** What libraries print to the console, and what it means for operators. */
const meanings: readonly (readonly [printed: RegExp, meaning: string])[] = [
  [
    /^Skipping the ready check because INFO command fails/,
    'the Redis user may not run INFO; settings of Redis that may lose keys are not checked',
  ],
];

/**
 * Turns lines that libraries print to the console, and Node's warnings, into lines of the log, each once a minute. So
 * every line of the output is JSON, whatever prints it.
 */
export function logConsoleLines(log: Logger): void {
  const isDue = createLogThrottle();
  const warn = (...args: unknown[]) => {
    const printed = format(...args);
    const meaning = meanings.find(([pattern]) => pattern.test(printed))?.[1] ?? printed;
    if (isDue(meaning)) log.warn(meaning);
  };
  Object.assign(console, { log: warn, info: warn, warn, error: warn, debug: warn, trace: warn });
  // Node's own listener prints them to standard error.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') warn(`${name}: ${message}`);
  });
}
