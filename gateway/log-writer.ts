import { fstatSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where log lines go. What pino needs of a destination, and what a service needs when it stops. */
export interface LogWriter {
  /** Takes lines that end in a line feed. */
  write(lines: string): void;
  /** Writes now what waits, as far as its reader keeps up. */
  writeWaiting(): void;
  /** Resolves once all is written, or cannot be written within the time. */
  flush(timeoutMs: number): Promise<void>;
  /** Lines that were given up since their reader did not keep up. */
  readonly droppedLines: number;
}

const standardOutput = 1;
/** As much as a pipe takes in one piece (PIPE_BUF): lines of several processes do not get mixed up. */
const batchLength = 4096;
const flushMs = 20;
const retryMs = 20;
/** What may wait for its reader, in UTF-16 units; beyond it lines are given up. */
const maxWaiting = 4 * 1024 * 1024;
const exitPatienceMs = 500;

/**
 * Writes lines to standard output, together: one system call a line would be among the dearest parts of a request. A reader that stalls
 * does not stall the service, as long as the descriptor does not block; Node sees to that for pipes. What is waiting
 * when the process exits is written then; what ends it at once, such as SIGKILL, takes the last 20 ms of lines along.
 *
 * A file is written to by a thread, one batch after another: its disk may be busy for longer than requests should wait.
 *
 * Not pino's own destination: it waits for a reader that stalls, or hands each write to a thread, which costs more than
 * the write; and at an exit it waits for ever for a reader that has gone.
 */
export function createLogWriter(): LogWriter {
  const batches: string[] = [];
  /** Bytes of a batch that was written in part. */
  let rest: Buffer | undefined;
  let open = '';
  let waiting = 0;
  let droppedLines = 0;
  let broken = false;
  let timer: NodeJS.Timeout | undefined;
  const isFile = fstatSync(standardOutput).isFile();
  /** Whether a thread writes at the moment. */
  let writing = false;

  /** @returns whether nothing is left */
  function writeWaiting(): boolean {
    // What is under way comes first.
    if (writing) return false;
    if (open !== '') batches.push(open);
    open = '';
    while (!broken && (rest !== undefined || batches.length > 0)) {
      const batch = rest ?? Buffer.from(batches[0] ?? '');
      const written = tryWrite(batch);
      if (written === undefined) return false;
      if (rest === undefined) waiting -= batches.shift()?.length ?? 0;
      rest = written < batch.length ? batch.subarray(written) : undefined;
    }
    return true;
  }

  /** To a file. */
  function writeByThread(): void {
    const text = batches.splice(0).join('') + open;
    open = '';
    waiting -= text.length;
    const bytes = rest === undefined ? Buffer.from(text) : Buffer.concat([rest, Buffer.from(text)]);
    rest = undefined;
    if (broken || bytes.length === 0) return;
    writing = true;
    write(standardOutput, bytes, (error, written) => {
      writing = false;
      if (error !== null) {
        broken = true;
      } else if (written < bytes.length) {
        rest = bytes.subarray(written);
        writeByThread();
      }
    });
  }

  /** @returns undefined where the reader has to read first */
  function tryWrite(bytes: Buffer): number | undefined {
    try {
      return writeSync(standardOutput, bytes);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined;
      // Nobody reads any more.
      broken = true;
      return bytes.length;
    }
  }

  function onTimer(): void {
    timer = undefined;
    if (isFile && !writing) writeByThread();
    else if (!writeWaiting()) schedule(retryMs);
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(onTimer, ms).unref();
  }

  process.once('exit', () => {
    // Nobody will tell us how it ends. It goes on by itself: libuv waits for its threads.
    writing = false;
    const until = performance.now() + exitPatienceMs;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (!writeWaiting() && performance.now() < until) Atomics.wait(clock, 0, 0, retryMs);
  });

  return {
    get droppedLines() {
      return droppedLines;
    },
    write(lines) {
      if (broken) return;
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
    writeWaiting() {
      writeWaiting();
    },
    async flush(timeoutMs) {
      const until = performance.now() + timeoutMs;
      while (!writeWaiting() && performance.now() < until) await sleep(retryMs);
    },
  };
}
