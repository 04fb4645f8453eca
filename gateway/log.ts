import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { LogWriter } from './log-writer.ts';

const forPeople = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};

/** One JSON line an event on standard output; readable lines where that is a terminal. */
export function createLog(level: string, writer: LogWriter): Logger {
  const options = { level, base: { service: 'gateway' }, serializers: { err: serializeError } };
  if (process.stdout.isTTY) return pino(options, PinoPretty(forPeople));
  return pino(options, writer);
}

/** Only what is known to be harmless: an error of ioredis carries the command that failed, password and all. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  return {
    type: error.name,
    message: error.message,
    code: 'code' in error ? error.code : undefined,
    stack: error.stack,
    cause: error.cause === undefined ? undefined : serializeError(error.cause),
  };
}
