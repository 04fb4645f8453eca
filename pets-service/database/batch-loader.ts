import DataLoader from 'dataloader';
import { unavailabilityOf } from './database-error.ts';

/** Schedules a batch after the current turn of the event loop, in which further calls can join it. */
export const afterThisTurn = (send: () => void): void => void setImmediate(send);

/**
 * Loads inputs of one turn of the event loop together; a single call is not delayed. If a batch fails because of one of its
 * inputs, such as a pet that a constraint refuses, each input is tried alone, so that it harms no other.
 * @param load returns an output or an error for each input, in their order
 */
export function createBatchLoader<Input, Output>(
  load: (inputs: readonly Input[]) => Promise<readonly (Output | Error)[]>,
): (input: Input) => Promise<Output> {
  async function loadAlone(input: Input): Promise<Output | Error> {
    try {
      const [output] = await load([input]);
      return output ?? new Error('no output');
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async function loadBatch(inputs: readonly Input[]): Promise<readonly (Output | Error)[]> {
    try {
      return await load(inputs);
    } catch (error) {
      if (inputs.length === 1 || unavailabilityOf(error) !== undefined) throw error;
      return Promise.all(inputs.map(loadAlone));
    }
  }

  const loader = new DataLoader<Input, Output>(loadBatch, { batchScheduleFn: afterThisTurn, cache: false });
  return (input) => loader.load(input);
}
