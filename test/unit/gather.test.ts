import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gather } from '../../pets-service/gather.ts';

/** Doubles numbers, and keeps what it was asked together. */
function doubling() {
  const asked: (readonly number[])[] = [];
  const ask = gather(async (numbers: readonly number[]) => {
    asked.push(numbers);
    await turn();
    if (numbers.includes(0)) throw new Error('zero');
    return numbers.map((number) => number * 2);
  });
  return { ask, asked };
}

test('what is asked within one turn is asked together, and everybody gets his own answer', async () => {
  const { ask, asked } = doubling();
  expect(await Promise.all([ask(1), ask(2), ask(1)])).toEqual([2, 4, 2]);
  expect(asked).toEqual([[1, 2, 1]]);
});

test('what is asked later is not answered by what was asked before', async () => {
  const { ask, asked } = doubling();
  const first = ask(1);
  await turn();
  const second = ask(2);
  expect(await Promise.all([first, second])).toEqual([2, 4]);
  expect(asked).toEqual([[1], [2]]);
});

test('a failure is that of all who asked together, and of nobody else', async () => {
  const { ask } = doubling();
  const together = [ask(0), ask(1)];
  await turn();
  const later = ask(2);
  for (const answer of together) await expect(answer).rejects.toThrow('zero');
  expect(await later).toBe(4);
});

test('answers that are too few are given to nobody', async () => {
  const ask = gather((numbers: readonly number[]) => Promise.resolve(numbers.slice(1)));
  await expect(Promise.all([ask(1), ask(2)])).rejects.toThrow('not as many answers as questions');
});
