import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gather } from '../../../../pets-service/database/batch.ts';

/** Doubles numbers other than 0, and keeps what it was asked together. */
function doubling() {
  const asked: (readonly number[])[] = [];
  async function double(number: number): Promise<number> {
    await turn();
    if (number === 0) throw new Error('zero');
    return number * 2;
  }
  const ask = gather((numbers: readonly number[]) => {
    asked.push(numbers);
    return numbers.map(double);
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

test('a failure is told to whom it concerns, and to nobody else', async () => {
  const { ask } = doubling();
  const [failing, beside] = [ask(0), ask(1)];
  await expect(failing).rejects.toThrow('zero');
  expect(await beside).toBe(2);
  expect(await ask(2)).toBe(4);
});

test('where asking fails itself, nobody waits for ever', async () => {
  const tooFew = gather((numbers: readonly number[]) =>
    numbers.slice(1).map((each) => Promise.resolve(each)),
  );
  const [first, second] = [tooFew(1), tooFew(2)];
  expect(await first).toBe(2);
  await expect(second).rejects.toThrow('fewer answers than questions');
  const broken = gather((): Promise<number>[] => {
    throw new Error('broken');
  });
  await expect(broken(1)).rejects.toThrow('broken');
});
