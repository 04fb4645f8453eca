import type { Span } from '@opentelemetry/api';
import { activeSpan } from '#runtime/tracing.ts';
import { maxWaiting, type ConnectionSlots } from './connection-slots.ts';
import { unavailabilityOf } from './database-error.ts';

interface BatchLoaderOptions<Input, Output> {
  slots: ConnectionSlots;
  /** @param callers spans of the calls @returns an output or an error for each input, in their order */
  load: (
    inputs: readonly Input[],
    callers: readonly (Span | undefined)[],
  ) => Promise<readonly (Output | Error)[]>;
  /** Maximum number of different inputs in a batch. */
  maxBatch?: number;
  /** Waiting calls with equal keys share an input. By default none do. */
  keyOf?: (input: Input) => unknown;
}

/** An input, and the calls that wait for its output. */
interface Entry<Input, Output> extends PromiseWithResolvers<Output> {
  input: Input;
  callers: (Span | undefined)[];
}

/**
 * Loads inputs of calls together that arrive in one turn of the event loop, or while they wait for a connection. A single
 * call is not delayed. A batch is composed when it is sent, so a caller reads its own earlier writes. If a batch fails
 * because of one of its inputs, such as a pet that a constraint refuses, each input is tried alone, so that it harms no
 * other.
 * @returns a function that throws DatabaseTimeout if no connection becomes free in time for its batch, which began to wait
 * with the first of its calls
 */
export function createBatchLoader<Input, Output>({
  slots,
  load,
  maxBatch = maxWaiting,
  keyOf = () => Symbol(),
}: BatchLoaderOptions<Input, Output>): (input: Input) => Promise<Output> {
  const waiting = new Map<unknown, Entry<Input, Output>>();
  let waitingCalls = 0;
  /** Batches that will be sent. There are always enough for all entries. */
  let scheduled = 0;

  function takeBatch(): Entry<Input, Output>[] {
    scheduled -= 1;
    const batch = Array.from(waiting).slice(0, maxBatch);
    for (const [key, { callers }] of batch) {
      waiting.delete(key);
      waitingCalls -= callers.length;
    }
    return batch.map(([, entry]) => entry);
  }

  async function send(take: () => Entry<Input, Output>[]): Promise<void> {
    let entries: Entry<Input, Output>[] = [];
    try {
      const outputs = await slots.run(() => {
        entries = take();
        return load(
          entries.map(({ input }) => input),
          entries.flatMap(({ callers }) => callers),
        );
      });
      if (outputs.length !== entries.length) throw new Error('no output');
      for (const [index, output] of outputs.entries()) {
        entries[index]?.resolve(output instanceof Error ? Promise.reject(output) : output);
      }
    } catch (error) {
      // No connection was free in time.
      if (entries.length === 0) entries = take();
      const isRetried = entries.length > 1 && unavailabilityOf(error) === undefined;
      for (const entry of entries) {
        if (isRetried) void send(() => [entry]);
        else entry.reject(error);
      }
    }
  }

  return async function loadBatched(input) {
    slots.assertAvailable(waitingCalls);
    const key = keyOf(input);
    const entry = waiting.get(key) ?? { input, callers: [], ...Promise.withResolvers<Output>() };
    entry.callers.push(activeSpan());
    waiting.set(key, entry);
    waitingCalls += 1;
    if (waiting.size > scheduled * maxBatch) {
      scheduled += 1;
      // After this turn of the event loop, in which further calls can join the batch.
      setImmediate(() => void send(takeBatch));
    }
    return entry.promise;
  };
}
