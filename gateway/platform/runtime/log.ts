import { fstatSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { format } from 'node:util';
import { pino, type Logger, type LoggerOptions } from 'pino';
import { createLogThrottle } from './log-throttle.ts';

export interface Log {
  log: Logger;
  /** Where the lines go; undefined on a terminal. */
  writer: LogWriter | undefined;
}

/** Loaded on a terminal only: elsewhere it would take 2 % of the CPU time of a start. */
const pretty = process.stdout.isTTY ? await import('pino-pretty') : undefined;

const prettyOptions = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};
const warnLevel = 40;

/** Writes one JSON line for each event to standard output, or readable lines if that is a terminal. */
export function createLog(level: string): Log {
  const options = { level, base: { service: 'gateway' }, serializers: { err: serializeError } };
  if (pretty !== undefined) {
    return { log: pino(options, pretty.PinoPretty(prettyOptions)), writer: undefined };
  }
  const writer = createLogWriter((lines) =>
    log.warn({ lines }, 'log lines were dropped: too many were waiting'),
  );
  const hooks: LoggerOptions['hooks'] = {
    // Lines at warn and above are written at once, with all lines that wait: they may be the last of the process.
    logMethod(args, method, level) {
      method.apply(this, args);
      if (level >= warnLevel) writer.writeWaiting();
    },
  };
  const log = pino({ ...options, hooks }, writer);
  return { log, writer };
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

/** Destination of log lines: what pino needs of one, and what a service needs when it stops. */
type LogWriter = ReturnType<typeof createLogWriter>;

const standardOutput = 1;
/** PIPE_BUF: a pipe takes this much in one piece, so that lines of several processes do not mix. */
const batchLength = 4096;
const flushMs = 20;
/** Retry delay when the pipe is full (busy), and after a write error such as ENOSPC or EPIPE (failed). */
const retryMs = { busy: 20, failed: 1000 };
/** Limit of waiting lines, in UTF-16 units. Lines beyond it are dropped. */
const maxWaiting = 4 * 1024 * 1024;
const exitTimeoutMs = 500;

type Progress = 'done' | 'busy' | 'failed';

/**
 * Writes lines to standard output in batches, since a system call for each line is a large part of a request's cost. A
 * reader that stalls or a full disk does not stall the service; lines wait until they can be written. Waiting lines are
 * written when the process exits; SIGKILL loses those of the last 20 ms. A file is written by a thread, since its disk
 * may be busy for longer than requests should wait.
 *
 * Not pino's own destination (sonic-boom): at the exit its flushSync tries again forever after EPIPE or ENOSPC, also with
 * `retryEAGAIN`, which is asked about EAGAIN only; and it does not write to a pipe without blocking.
 *
 * @param onDropped called with the number of dropped lines when lines can be written again
 */
export function createLogWriter(onDropped?: (lines: number) => void) {
  const batches: string[] = [];
  /** Bytes of a batch that was written in part. */
  let rest: Buffer | undefined;
  let open = '';
  let waiting = 0;
  let droppedLines = 0;
  let timer: NodeJS.Timeout | undefined;
  const isFile = fstatSync(standardOutput).isFile();
  /** Whether a thread is writing at the moment. */
  let writing = false;

  /** Writes waiting lines now, as far as the reader keeps up. */
  function writeWaiting(): Progress {
    // What the thread is writing comes first.
    if (writing) return 'busy';
    if (open !== '') batches.push(open);
    open = '';
    makeNonBlocking();
    while (rest !== undefined || batches.length > 0) {
      const batch = rest ?? Buffer.from(batches[0] ?? '');
      let written: number;
      try {
        written = writeSync(standardOutput, batch);
      } catch (error) {
        return error instanceof Error && 'code' in error && error.code === 'EAGAIN' ? 'busy' : 'failed';
      }
      if (rest === undefined) waiting -= batches.shift()?.length ?? 0;
      rest = written < batch.length ? batch.subarray(written) : undefined;
    }
    reportDrops();
    return 'done';
  }

  function writeByThread(): void {
    const bytes = rest ?? takeAll();
    rest = undefined;
    if (bytes.length === 0) return;
    writing = true;
    write(standardOutput, bytes, (error, written) => {
      writing = false;
      if (written < bytes.length) rest = bytes.subarray(written);
      if (error !== null) return schedule(retryMs.failed);
      if (rest !== undefined) return writeByThread();
      reportDrops();
      if (waiting > 0) schedule(flushMs);
    });
  }

  function takeAll(): Buffer {
    const text = batches.splice(0).join('') + open;
    open = '';
    waiting = 0;
    return Buffer.from(text);
  }

  function reportDrops(): void {
    const lines = droppedLines;
    // First: the report is a line, too.
    droppedLines = 0;
    if (lines > 0) onDropped?.(lines);
  }

  function onTimer(): void {
    timer = undefined;
    if (isFile && !writing) return writeByThread();
    const progress = writeWaiting();
    if (progress !== 'done') schedule(retryMs[progress]);
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(onTimer, ms).unref();
  }

  process.once('exit', () => {
    // A write of the thread ends by itself, since libuv waits for its threads; nobody is told here.
    writing = false;
    const deadline = performance.now() + exitTimeoutMs;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (writeWaiting() === 'busy' && performance.now() < deadline) {
      Atomics.wait(clock, 0, 0, retryMs.busy);
    }
  });

  return {
    /** Lines that were dropped since the last report because too many were waiting. */
    get droppedLines(): number {
      return droppedLines;
    },
    /** Takes lines that end in a line feed. */
    write(lines: string): void {
      if (waiting + lines.length > maxWaiting) {
        droppedLines += 1;
        return;
      }
      waiting += lines.length;
      if (open.length + lines.length <= batchLength) {
        open += lines;
      } else {
        if (open !== '') batches.push(open);
        open = lines;
      }
      schedule(flushMs);
    },
    writeWaiting,
    /** Resolves when all lines are written, when they can't be, or when the time is over. */
    async flush(timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      while (writeWaiting() === 'busy' && performance.now() < deadline) await sleep(retryMs.busy);
    },
  };
}

interface NativeHandle {
  _handle: { setBlocking: (blocking: boolean) => void };
}

/** Undocumented, but Node has no other way to change this flag of a file descriptor. */
function hasNativeHandle(stream: object): stream is NativeHandle {
  const handle = '_handle' in stream ? stream._handle : undefined;
  return typeof handle === 'object' && handle !== null && 'setBlocking' in handle;
}

/**
 * Makes a write to a full pipe fail instead of wait. Repeated before each write: all processes that share the pipe share
 * the flag, and each one resets it when it starts or ends.
 */
function makeNonBlocking(): void {
  if (hasNativeHandle(process.stdout)) process.stdout._handle.setBlocking(false);
}
