import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';

const forPeople = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};

/** One JSON line an event on standard output; readable lines where that is a terminal. */
export function createLog(level: string): Logger {
  const options = { level, base: { service: 'pets-service' } };
  if (process.stdout.isTTY) return pino(options, PinoPretty(forPeople));
  return pino(options);
}
