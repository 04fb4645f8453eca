import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBatchLoader } from '../../../../pets-service/database/batch-loader.ts';
import { createConnectionSlots } from '../../../../pets-service/database/connection-slots.ts';

type Load<Output> = (numbers: readonly number[]) => Promise<readonly (Output | Error)[]>;

const createLoader = <Output>(load: Load<Output>, options: { size?: number; maxBatch?: number } = {}) =>
  createBatchLoader({ slots: createConnectionSlots(options.size ?? 10), load, ...options });

/** A loader that doubles numbers, fails for 0, and records its batches. */
function createDoublingLoader() {
  const batches: (readonly number[])[] = [];
  const load = createLoader(async (numbers) => {
    batches.push(numbers);
    await nextTurn();
    return numbers.map((number) => (number === 0 ? new Error('zero') : number * 2));
  });
  return { load, batches };
}

test('calls of one turn are loaded in one batch, and each gets its own output', async () => {
  const { load, batches } = createDoublingLoader();
  expect(await Promise.all([load(1), load(2), load(1)])).toEqual([2, 4, 2]);
  expect(batches).toEqual([[1, 2, 1]]);
});

test('a later call does not get the output of an earlier one', async () => {
  const { load, batches } = createDoublingLoader();
  const first = load(1);
  await nextTurn();
  const second = load(2);
  expect(await Promise.all([first, second])).toEqual([2, 4]);
  expect(batches).toEqual([[1], [2]]);
});

test('an error of one input reaches only its caller', async () => {
  const { load } = createDoublingLoader();
  const [failing, succeeding] = [load(0), load(1)];
  await expect(failing).rejects.toThrow('zero');
  expect(await succeeding).toBe(2);
  expect(await load(2)).toBe(4);
});

test('if a batch fails, each input is retried alone', async () => {
  const batches: (readonly number[])[] = [];
  const load = createLoader((numbers) => {
    batches.push(numbers);
    if (numbers.includes(0)) return Promise.reject(new Error('zero'));
    return Promise.resolve(numbers);
  });
  const outcomes = await Promise.allSettled([1, 0, 2].map((number) => load(number)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(batches).toEqual([[1, 0, 2], [1], [0], [2]]);
});

test('if the database is unavailable, nothing is retried', async () => {
  let loads = 0;
  const load = createLoader((): Promise<number[]> => {
    loads += 1;
    return Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
  });
  const outcomes = await Promise.allSettled([load(1), load(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(loads).toBe(1);
});

test('if outputs are missing, every call is rejected', async () => {
  const load = createLoader((numbers) => Promise.resolve(numbers.slice(1)));
  const [first, second] = [load(1), load(2)];
  await expect(first).rejects.toThrow('no output');
  await expect(second).rejects.toThrow('no output');
});

/** A loader on one connection, whose batches end when the test says so. */
function createBlockedLoader(maxBatch?: number) {
  const batches: (readonly number[])[] = [];
  const ends: (() => void)[] = [];
  const load = createLoader<number>(
    (numbers) => {
      batches.push(numbers);
      return new Promise((resolve) => {
        ends.push(() => resolve(numbers));
      });
    },
    { size: 1, ...(maxBatch === undefined ? {} : { maxBatch }) },
  );
  return { load, batches, ends };
}

test('calls that wait for a connection share a batch, whose size is limited', async () => {
  const { load, batches, ends } = createBlockedLoader(3);
  const calls = [load(0)];
  await nextTurn();
  for (const number of [1, 2, 3, 4]) {
    calls.push(load(number));
    await nextTurn();
  }
  expect(batches).toEqual([[0]]);
  for (const index of [0, 1, 2]) {
    await expect.poll(() => ends[index]).toBeDefined();
    ends[index]?.();
  }
  expect(await Promise.all(calls)).toEqual([0, 1, 2, 3, 4]);
  expect(batches).toEqual([[0], [1, 2, 3], [4]]);
});

test('a call that waits too long for a connection is rejected, and its input is not loaded', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { load, batches, ends } = createBlockedLoader();
  const first = load(1);
  await nextTurn();
  const second = load(2).catch((error: unknown) => error);
  await nextTurn();
  vi.advanceTimersByTime(2000);
  expect(await second).toMatchObject({ name: 'DatabaseTimeout', unavailability: 'refused' });
  ends[0]?.();
  expect(await first).toBe(1);
  const third = load(3);
  await expect.poll(() => ends[1]).toBeDefined();
  ends[1]?.();
  expect(await third).toBe(3);
  expect(batches).toEqual([[1], [3]]);
});

test('the number of waiting calls is limited', async () => {
  const { load, ends } = createBlockedLoader();
  const first = load(0);
  await nextTurn();
  const waiting = Array.from({ length: 1000 }, (_, index) => load(index + 1));
  await expect(load(-1)).rejects.toThrow('too many');
  ends[0]?.();
  await first;
  await expect.poll(() => ends[1]).toBeDefined();
  ends[1]?.();
  expect(await Promise.all(waiting)).toHaveLength(1000);
});
