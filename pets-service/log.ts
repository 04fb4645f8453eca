import { writeSync } from 'node:fs';
import { pino, type Logger } from 'pino';

/** A system call for each line is a large part of a request's cost. */
const batchMs = 20;

/** Writes one JSON line for each event to standard output, or readable lines if that is a terminal. */
export async function createLog(level: string): Promise<Logger> {
  const options = { level, base: { service: 'pets-service' }, serializers: { err: serializeError } };
  if (process.stdout.isTTY) {
    const { PinoPretty } = await import('pino-pretty');
    const ignore = 'pid,hostname,service';
    const messageFormat = '{service}: {msg}';
    return pino(options, PinoPretty({ ignore, messageFormat, singleLine: true, sync: true }));
  }
  return pino(options, createBatches());
}

/** Writes lines in batches, and at the end of the process. Lines that can't be written, as on a full disk, are dropped. */
function createBatches() {
  let waiting = '';
  function flush(): void {
    const lines = waiting;
    waiting = '';
    try {
      if (lines !== '') writeSync(process.stdout.fd, lines);
    } catch {
      // Nobody can be told.
    }
  }
  process.once('exit', flush);
  return {
    write(line: string): void {
      if (waiting === '') setTimeout(flush, batchMs).unref();
      waiting += line;
    },
  };
}

/** Only fields that are known to be harmless: an error of a library may carry what a client sent. */
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
