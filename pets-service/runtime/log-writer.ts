import { fstatSync, write, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Where log lines go. What pino needs of a destination, and what a service needs when it stops. */
export interface LogWriter {
  write(line: string): void;
  /** Resolves once all is written, or cannot be written within the time or at all. */
  flush(timeoutMs: number): Promise<void>;
}

const standardOutput = 1;
/** Lines are written together, since a write for each would cost more than the line itself. */
const flushMs = 20;
/** What is written at once: as much as a pipe takes in one piece (PIPE_BUF), lest lines of several processes get mixed up. */
const batchLength = fstatSync(standardOutput).isFile() ? 64 * 1024 : 4096;
/** How soon to try again where the reader was busy, and where writing failed: the disk was full, or nobody reads. */
const busyMs = 20;
const failedMs = 1000;
/** What may wait, in UTF-16 units; beyond it lines are given up. */
const maxWaiting = 4 * 1024 * 1024;
const exitPatienceMs = 500;

/**
 * Writes lines to standard output by a thread, so that neither a busy disk nor a reader that stalls holds up requests.
 * What could not be written waits for a better time. What is waiting when the process exits is written then, as far as
 * somebody takes it.
 *
 * Not pino's own destination: at an exit it waits for ever for a reader that stalls or has gone, and for a full disk.
 *
 * @param onGivenUp told, once lines are written again, how many were given up meanwhile
 */
export function createLogWriter(onGivenUp: (lines: number) => void): LogWriter {
  const batches: string[] = [];
  /** Length of all of them. */
  let waiting = 0;
  /** Of what was written in part. */
  let rest: Buffer | undefined;
  /** Whether the thread writes at the moment. */
  let writing = false;
  /** Whether the last write failed for another reason than a busy reader. */
  let failed = false;
  let givenUp = 0;
  let timer: NodeJS.Timeout | undefined;

  function take(): Buffer | undefined {
    const batch = rest === undefined ? batches.shift() : undefined;
    if (batch !== undefined) waiting -= batch.length;
    const bytes = batch === undefined ? rest : Buffer.from(batch);
    rest = undefined;
    return bytes;
  }

  function writeWaiting(): void {
    timer = undefined;
    if (writing) return;
    const bytes = take();
    if (bytes === undefined) return;
    writing = true;
    neverBlock();
    write(standardOutput, bytes, (error, written) => {
      writing = false;
      if (written < bytes.length) rest = bytes.subarray(written);
      failed = error !== null && !isBusy(error);
      if (error !== null) return schedule(failed ? failedMs : busyMs);
      if (givenUp > 0) onGivenUp(givenUp);
      givenUp = 0;
      writeWaiting();
    });
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(writeWaiting, ms).unref();
  }

  process.once('exit', () => {
    const until = performance.now() + exitPatienceMs;
    const clock = new Int32Array(new SharedArrayBuffer(4));
    neverBlock();
    for (let bytes = take(); bytes !== undefined; bytes = take()) {
      try {
        const written = writeSync(standardOutput, bytes);
        if (written < bytes.length) rest = bytes.subarray(written);
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) return;
        rest = bytes;
        Atomics.wait(clock, 0, 0, busyMs);
      }
    }
  });

  function isWaiting(): boolean {
    return !failed && (writing || rest !== undefined || waiting > 0);
  }

  return {
    write(line) {
      if (waiting + line.length > maxWaiting) {
        givenUp += 1;
        return;
      }
      waiting += line.length;
      const last = batches.at(-1);
      if (last !== undefined && last.length + line.length <= batchLength) batches[batches.length - 1] += line;
      else batches.push(line);
      if (!writing) schedule(flushMs);
    },
    async flush(timeoutMs) {
      const until = performance.now() + timeoutMs;
      while (isWaiting() && performance.now() < until) await sleep(busyMs);
    },
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
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
 * Makes a write to a pipe fail rather than wait for its reader, and the exit for that write. Each time, since the flag
 * belongs to all processes that share the pipe, and each that starts or ends takes it away.
 */
function neverBlock(): void {
  if (isUnblockable(process.stdout)) process.stdout._handle.setBlocking(false);
}
