import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBatchLoader } from '../../../../pets-service/database/batch-loader.ts';

/** Doubles numbers other than 0, and keeps what it was asked together. */
function doubling() {
  const asked: (readonly number[])[] = [];
  const load = createBatchLoader(async (numbers: readonly number[]) => {
    asked.push(numbers);
    await turn();
    return numbers.map((number) => (number === 0 ? new Error('zero') : number * 2));
  });
  return { load, asked };
}

test('calls of one turn are loaded together, and everybody gets his own output', async () => {
  const { load, asked } = doubling();
  expect(await Promise.all([load(1), load(2), load(1)])).toEqual([2, 4, 2]);
  expect(asked).toEqual([[1, 2, 1]]);
});

test('a later call does not get the output of an earlier one', async () => {
  const { load, asked } = doubling();
  const first = load(1);
  await turn();
  const second = load(2);
  expect(await Promise.all([first, second])).toEqual([2, 4]);
  expect(asked).toEqual([[1], [2]]);
});

test('an error of one input reaches its caller, and nobody else', async () => {
  const { load } = doubling();
  const [failing, beside] = [load(0), load(1)];
  await expect(failing).rejects.toThrow('zero');
  expect(await beside).toBe(2);
  expect(await load(2)).toBe(4);
});

test('if a batch fails, each input is tried alone', async () => {
  const asked: (readonly number[])[] = [];
  const load = createBatchLoader((numbers: readonly number[]) => {
    asked.push(numbers);
    if (numbers.includes(0)) return Promise.reject(new Error('zero'));
    return Promise.resolve(numbers);
  });
  const outcomes = await Promise.allSettled([1, 0, 2].map((number) => load(number)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(asked).toEqual([[1, 0, 2], [1], [0], [2]]);
});

test('if the database is unavailable, nothing is tried again', async () => {
  let loads = 0;
  const load = createBatchLoader((): Promise<number[]> => {
    loads += 1;
    return Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
  });
  const outcomes = await Promise.allSettled([load(1), load(2)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(loads).toBe(1);
});

test('if outputs are missing, nobody waits forever', async () => {
  const tooFew = createBatchLoader((numbers: readonly number[]) => Promise.resolve(numbers.slice(1)));
  const [first, second] = [tooFew(1), tooFew(2)];
  await expect(first).rejects.toThrow('same length');
  await expect(second).rejects.toThrow('same length');
});
