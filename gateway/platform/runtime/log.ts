import { pino, type Logger, type LoggerOptions } from 'pino';
import { createLogWriter, type LogWriter } from './log-writer.ts';

export interface Log {
  log: Logger;
  /** Where the lines go; undefined on a terminal. */
  writer: LogWriter | undefined;
  /** Resolves when all lines are written, when they can't be, or when the time is over. */
  flush(timeoutMs: number): Promise<void>;
}

/** Loaded on a terminal only: elsewhere it would take 2 % of the CPU time of a start. */
const pretty = process.stdout.isTTY ? await import('pino-pretty') : undefined;

const prettyOptions = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};

/** Writes one JSON line for each event to standard output, or readable lines if that is a terminal. */
export function createLog(level: string): Log {
  const options = { level, base: { service: 'gateway' }, serializers: { err: serializeError } };
  if (pretty !== undefined) {
    const stream = pretty.PinoPretty(prettyOptions);
    return { log: pino(options, stream), writer: undefined, flush: async () => {} };
  }
  const writer = createLogWriter((lines) =>
    log.warn({ lines }, 'log lines were dropped: too many were waiting'),
  );
  const log = pino({ ...options, hooks: flushWarnings(writer) }, writer);
  return { log, writer, flush: (timeoutMs) => writer.flush(timeoutMs) };
}

const warnLevel = 40;

/** Writes lines at warn and above at once, with all lines that wait: they may be the last of the process. */
function flushWarnings(writer: LogWriter): NonNullable<LoggerOptions['hooks']> {
  return {
    logMethod(args, log, level) {
      log.apply(this, args);
      if (level >= warnLevel) writer.writeWaiting();
    },
  };
}

/** Only fields that are known to be harmless: an error of ioredis carries its command, which may hold a password. */
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
