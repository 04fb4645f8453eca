import { pino, type Logger } from 'pino';
import { PinoPretty } from 'pino-pretty';
import type { LogWriter } from '../runtime/log-writer.ts';

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
  return pino(options, urgently(writer));
}

const warnLevel = 40;

/** Lines at warn and above are written at once, with all that wait: they may be the last. */
function urgently(writer: LogWriter) {
  return {
    // Makes pino set lastLevel before it writes.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      writer.write(line);
      if (this.lastLevel >= warnLevel) writer.writeWaiting();
    },
  };
}

/** Writes the access log's line of one request. */
export type LogRequest = (fields: Readonly<Record<string, string | number | boolean | undefined>>) => void;

/**
 * As `log.info(fields, 'request')`, in which pino looks at each field for what it might be: for the one line that every
 * request has, that takes longer than all other steps of ours.
 */
export function createRequestLog(log: Logger, writer: LogWriter): LogRequest {
  if (!log.isLevelEnabled('info')) return () => {};
  if (process.stdout.isTTY) return (fields) => log.info(fields, 'request');
  const bindings = JSON.stringify(log.bindings()).slice(1, -1);
  return function logRequest(fields) {
    const own = JSON.stringify(fields).slice(1, -1);
    writer.write(`{"level":30,"time":${Date.now()},${bindings},${own},"msg":"request"}\n`);
  };
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
