import { format } from 'node:util';
import { pino, type Logger, type LoggerOptions } from 'pino';
import { createLogThrottle } from './log-throttle.ts';
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

/** Writes the access log's line of one request. */
export type LogRequest = (fields: Readonly<Record<string, string | number | boolean | undefined>>) => void;

/**
 * Writes the same line as `log.info(fields, 'request')`. pino inspects each field, which for the one line that every
 * request has takes longer than all steps of the journey together.
 * @param writer undefined on a terminal, where pino writes readable lines
 */
export function createRequestLog(log: Logger, writer: LogWriter | undefined): LogRequest {
  if (!log.isLevelEnabled('info')) return () => {};
  if (writer === undefined) return (fields) => log.info(fields, 'request');
  const bindings = JSON.stringify(log.bindings()).slice(1, -1);
  return function logRequest(fields) {
    const own = JSON.stringify(fields).slice(1, -1);
    writer.write(`{"level":30,"time":${Date.now()},${bindings},${own},"msg":"request"}\n`);
  };
}
