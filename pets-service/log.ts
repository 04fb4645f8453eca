import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';

/** One JSON line an event on standard output; readable lines where that is a terminal. */
export function createLog(level: string): Logger {
  const options = { level, base: { service: 'pets-service' } };
  if (process.stdout.isTTY) return pino(options, PinoPretty({ ignore: 'pid,hostname', sync: true }));
  return pino(options);
}
