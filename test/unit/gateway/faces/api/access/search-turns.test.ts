import { expect, test } from 'vitest';
import { createSearchTurns } from '../../../../../../gateway/faces/api/access/search-turns.ts';

test('one search runs at a time, the sessions one after the other, and one that fails holds up no other', async () => {
  const takeTurn = createSearchTurns();
  const order: string[] = [];
  let running = 0;
  const search = (name: string, fails = false) =>
    takeTurn(name.slice(0, 1), async () => {
      running += 1;
      order.push(`${name} ${running}`);
      await Promise.resolve();
      running -= 1;
      if (fails) throw new Error(name);
      return name;
    });
  const results = await Promise.allSettled([
    search('a1'),
    search('a2', true),
    search('a3'),
    search('b1'),
    search('c1'),
    search('b2'),
  ]);
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, true, true]);
  expect(order).toEqual(['a1 1', 'a2 1', 'b1 1', 'c1 1', 'a3 1', 'b2 1']);
});

test('after a search there is a rest as long as it took', async () => {
  const takeTurn = createSearchTurns();
  const times: number[] = [];
  const search = () =>
    takeTurn('a', async () => {
      const start = performance.now();
      while (performance.now() - start < 20) await Promise.resolve();
      times.push(performance.now());
    });
  await Promise.all([search(), search(), search()]);
  // Three of 20 ms, and two rests.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(70);
});

test('the eleventh search of a session that waits is refused, and those of others are not', async () => {
  const takeTurn = createSearchTurns();
  const { promise, resolve } = Promise.withResolvers<void>();
  const all = Array.from({ length: 11 }, () => takeTurn('a', () => promise));
  expect(() => takeTurn('a', () => promise)).toThrow('10 searches of this session wait already');
  const other = takeTurn('b', () => promise);
  resolve();
  await Promise.all([...all, other]);
});
