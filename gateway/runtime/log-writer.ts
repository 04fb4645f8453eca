import { fstatSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where log lines go. What pino needs of a destination, and what a service needs when it stops. */
export interface LogWriter {
  /** Takes lines that end in a line feed. */
  write(lines: string): void;
  /** Writes now what waits, as far as its reader keeps up. */
  writeWaiting(): void;
  /** Resolves once all is written, or cannot be written within the time or at all. */
  flush(timeoutMs: number): Promise<void>;
  /** Lines that were given up since too many waited already. */
  readonly droppedLines: number;
}

const standardOutput = 1;
/** As much as a pipe takes in one piece (PIPE_BUF): lines of several processes do not get mixed up. */
const batchLength = 4096;
const flushMs = 20;
/** How soon to try again where the reader was busy, and where writing failed: the disk was full, or nobody reads. */
const retryMs = { busy: 20, failed: 1000 };
/** What may wait for its reader, in UTF-16 units; beyond it lines are given up. */
const maxWaiting = 4 * 1024 * 1024;
const exitPatienceMs = 500;

type Progress = 'done' | 'busy' | 'failed';

/**
 * Writes lines to standard output, together: one system call a line would be among the dearest parts of a request. A reader that stalls
 * does not stall the service. What is waiting when the process exits is written then; what ends it at once, such as
 * SIGKILL, takes the last 20 ms of lines along. Lines that could not be written wait for a better time.
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
  let timer: NodeJS.Timeout | undefined;
  const isFile = fstatSync(standardOutput).isFile();
  /** Whether a thread writes at the moment. */
  let writing = false;

  function writeWaiting(): Progress {
    // What is under way comes first.
    if (writing) return 'busy';
    if (open !== '') batches.push(open);
    open = '';
    neverBlock();
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
    return 'done';
  }

  /** To a file. */
  function writeByThread(): void {
    const bytes = rest ?? takeAll();
    rest = undefined;
    if (bytes.length === 0) return;
    writing = true;
    write(standardOutput, bytes, (error, written) => {
      writing = false;
      if (written < bytes.length) rest = bytes.subarray(written);
      if (error !== null) schedule(retryMs.failed);
      else if (rest !== undefined) writeByThread();
      else if (waiting > 0) schedule(flushMs);
    });
  }

  function takeAll(): Buffer {
    const text = batches.splice(0).join('') + open;
    open = '';
    waiting = 0;
    return Buffer.from(text);
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
    // Nobody will tell us how it ends. It goes on by itself: libuv waits for its threads.
    writing = false;
    const until = performance.now() + exitPatienceMs;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    while (writeWaiting() === 'busy' && performance.now() < until) Atomics.wait(clock, 0, 0, retryMs.busy);
  });

  return {
    get droppedLines() {
      return droppedLines;
    },
    write(lines) {
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
      while (writeWaiting() === 'busy' && performance.now() < until) await sleep(retryMs.busy);
    },
  };
}

interface Unblockable {
  _handle: { setBlocking: (blocking: boolean) => void };
}

/** Undocumented, but there is no other way from here to what is a flag of the descriptor. */
function isUnblockable(stream: object): stream is Unblockable {
  const handle = '_handle' in stream ? stream._handle : undefined;
  return typeof handle === 'object' && handle !== null && 'setBlocking' in handle;
}

/**
 * Makes a write to a pipe fail rather than wait for its reader. Each time, since the flag belongs to all processes that
 * share the pipe, and each that starts or ends takes it away.
 */
function neverBlock(): void {
  if (isUnblockable(process.stdout)) process.stdout._handle.setBlocking(false);
}
