import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBatchLoader } from '../../../../pets-service/database/batch-loader.ts';

/** A loader that doubles numbers, fails for 0, and records its batches. */
function createDoublingLoader() {
  const batches: (readonly number[])[] = [];
  const load = createBatchLoader(async (numbers: readonly number[]) => {
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
  const load = createBatchLoader((numbers: readonly number[]) => {
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
  const load = createBatchLoader((): Promise<number[]> => {
    loads += 1;
    return Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
  });
  const outcomes = await Promise.allSettled([load(1), load(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(loads).toBe(1);
});

test('if outputs are missing, every call is rejected', async () => {
  const load = createBatchLoader((numbers: readonly number[]) => Promise.resolve(numbers.slice(1)));
  const [first, second] = [load(1), load(2)];
  await expect(first).rejects.toThrow('same length');
  await expect(second).rejects.toThrow('same length');
});
