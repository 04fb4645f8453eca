import type { Span } from '@opentelemetry/api';
import { activeSpan } from '#runtime/tracing.ts';
import { maxWaiting, noFreeConnection, waitTimeoutMs, type ConnectionSlots } from './connection-slots.ts';
import { unavailabilityOf } from './database-error.ts';

interface BatchLoaderOptions<Input, Output> {
  slots: ConnectionSlots;
  /** Returns an output or an error for each input, in their order. */
  load: (inputs: readonly Input[]) => Promise<readonly (Output | Error)[]>;
  /** Maximum number of different inputs in a batch. */
  maxBatch?: number;
  /** Waiting calls with equal keys share an input. By default none do. */
  keyOf?: (input: Input) => unknown;
  /** Runs a batch with a span. @param callers spans of its calls */
  traceStatement?: <T>(callers: readonly (Span | undefined)[], run: () => Promise<T>) => Promise<T>;
}

interface Call<Output> {
  resolve: (output: Output) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
  span: Span | undefined;
}

interface Entry<Input, Output> {
  input: Input;
  calls: Set<Call<Output>>;
}

/**
 * Loads inputs of calls together that arrive in one turn of the event loop, or while they wait for a connection. A single
 * call is not delayed. A batch is composed when it is sent, so a caller reads its own earlier writes. If a batch fails
 * because of one of its inputs, such as a pet that a constraint refuses, each input is tried alone, so that it harms no
 * other.
 * @returns a function that throws DatabaseTimeout if no connection becomes free in time
 */
export function createBatchLoader<Input, Output>({
  slots,
  load,
  maxBatch = maxWaiting,
  keyOf = () => Symbol(),
  traceStatement = (_callers, run) => run(),
}: BatchLoaderOptions<Input, Output>): (input: Input) => Promise<Output> {
  const waiting = new Map<unknown, Entry<Input, Output>>();
  let waitingCalls = 0;
  /** Batches that will be sent. There are always enough for all entries. */
  let scheduled = 0;

  function add(input: Input, { resolve, reject }: Pick<Call<Output>, 'resolve' | 'reject'>): void {
    const key = keyOf(input);
    const entry = waiting.get(key) ?? { input, calls: new Set() };
    const timer = setTimeout(() => {
      waitingCalls -= 1;
      entry.calls.delete(call);
      if (entry.calls.size === 0) waiting.delete(key);
      reject(noFreeConnection());
    }, waitTimeoutMs);
    const call = { resolve, reject, timer, span: activeSpan() };
    entry.calls.add(call);
    waiting.set(key, entry);
    waitingCalls += 1;
    if (waiting.size <= scheduled * maxBatch) return;
    scheduled += 1;
    // After this turn of the event loop, in which further calls can join the batch.
    setImmediate(() => slots.whenFree(sendBatch));
  }

  function sendBatch(): Promise<void> | undefined {
    scheduled -= 1;
    const entries = take();
    // All calls may have timed out.
    return entries.length === 0 ? undefined : loadBatch(entries);
  }

  async function loadBatch(entries: Entry<Input, Output>[]): Promise<void> {
    const inputs = entries.map(({ input }) => input);
    try {
      const outputs = await loadTraced(entries, inputs);
      const complete = outputs.length === inputs.length;
      for (const [index, entry] of entries.entries()) settle(entry, complete ? outputs[index] : undefined);
    } catch (error) {
      if (inputs.length === 1 || unavailabilityOf(error) !== undefined) {
        for (const entry of entries) settle(entry, toError(error));
      } else {
        for (const entry of entries) void loadAlone(entry);
      }
      throw error;
    }
  }

  function loadTraced(
    entries: readonly Entry<Input, Output>[],
    inputs: readonly Input[],
  ): Promise<readonly (Output | Error)[]> {
    const callers = entries.flatMap(({ calls }) => Array.from(calls, ({ span }) => span));
    return traceStatement(callers, () => load(inputs));
  }

  function take(): Entry<Input, Output>[] {
    const entries: Entry<Input, Output>[] = [];
    for (const [key, entry] of waiting) {
      if (entries.length === maxBatch) break;
      waiting.delete(key);
      waitingCalls -= entry.calls.size;
      for (const { timer } of entry.calls) clearTimeout(timer);
      entries.push(entry);
    }
    return entries;
  }

  async function loadAlone(entry: Entry<Input, Output>): Promise<void> {
    try {
      const [output] = await slots.run(() => loadTraced([entry], [entry.input]));
      settle(entry, output);
    } catch (error) {
      settle(entry, toError(error));
    }
  }

  return async (input) => {
    slots.assertAvailable(waitingCalls);
    const { promise, resolve, reject } = Promise.withResolvers<Output>();
    add(input, { resolve, reject });
    return promise;
  };
}

function settle<Input, Output>({ calls }: Entry<Input, Output>, output: Output | Error | undefined): void {
  for (const { resolve, reject } of calls) {
    if (output === undefined) reject(new Error('no output'));
    else if (output instanceof Error) reject(output);
    else resolve(output);
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
