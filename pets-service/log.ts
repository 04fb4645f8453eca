import { pino, type Logger } from 'pino';
import { PinoPretty } from 'pino-pretty';
import { createLogWriter } from './runtime/log-writer.ts';

const forPeople = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};

export interface Log {
  log: Logger;
  /** Resolves once all is written, or cannot be written within the time or at all. */
  flush: (timeoutMs: number) => Promise<void>;
}

/** One JSON line an event on standard output; readable lines where that is a terminal. */
export function createLog(level: string): Log {
  const options = { level, base: { service: 'pets-service' } };
  if (process.stdout.isTTY) return { log: pino(options, PinoPretty(forPeople)), flush: async () => {} };
  const writer = createLogWriter((lines) =>
    log.warn({ lines }, 'log lines were given up: too many were waiting'),
  );
  const log = pino(options, writer);
  return { log, flush: (timeoutMs) => writer.flush(timeoutMs) };
}
