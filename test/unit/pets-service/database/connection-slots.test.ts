import { expect, onTestFinished, test, vi } from 'vitest';
import { createConnectionSlots } from '../../../../pets-service/database/connection-slots.ts';

/** Statements on two connections, which end when the test says so. */
function createStatements() {
  const slots = createConnectionSlots(2);
  const statements: PromiseWithResolvers<string>[] = [];
  const run = () =>
    slots.run(() => {
      const statement = Promise.withResolvers<string>();
      statements.push(statement);
      return statement.promise;
    });
  return { run, statements };
}

/** The error of the driver for a connection without a response. */
const noResponse = new Error('Query read timeout');
const refused = { name: 'DatabaseTimeout', message: 'the database does not respond' };

test('as many statements run as there are connections, in the order of the calls', async () => {
  const { run, statements } = createStatements();
  const calls = [run(), run(), run()];
  expect(statements).toHaveLength(2);
  statements[1]?.resolve('second');
  expect(await calls[1]).toBe('second');
  expect(statements).toHaveLength(3);
  statements[0]?.reject(new Error('refused'));
  await expect(calls[0]).rejects.toThrow('refused');
  statements[2]?.resolve('third');
  expect(await calls[2]).toBe('third');
});

test('while the database does not respond, one call at a time tries it and the others fail at once', async () => {
  const { run, statements } = createStatements();
  const first = run();
  statements[0]?.reject(noResponse);
  await expect(first).rejects.toBe(noResponse);
  for (const attempt of [1, 2]) {
    const trying = run();
    await expect(run()).rejects.toMatchObject(refused);
    statements[attempt]?.reject(noResponse);
    await expect(trying).rejects.toBe(noResponse);
  }
  const trying = run();
  statements[3]?.resolve('it is back');
  expect(await trying).toBe('it is back');
  const calls = [run(), run()];
  for (const index of [4, 5]) statements[index]?.resolve('as before');
  expect(await Promise.all(calls)).toEqual(['as before', 'as before']);
});

test('a single dead connection does not count as a database that does not respond', async () => {
  const { run, statements } = createStatements();
  const [dead, alive] = [run(), run()];
  statements[1]?.resolve('alive');
  expect(await alive).toBe('alive');
  statements[0]?.reject(noResponse);
  await expect(dead).rejects.toBe(noResponse);
  const calls = [run(), run()];
  for (const index of [2, 3]) statements[index]?.resolve('alive');
  expect(await Promise.all(calls)).toEqual(['alive', 'alive']);
});

test('once all statements have run for two seconds without a response, further calls fail at once', async () => {
  const { run, statements } = createStatements();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const calls = [run(), run()];
  vi.advanceTimersByTime(1);
  const waiting = run().catch((error: unknown) => error);
  vi.advanceTimersByTime(2000);
  expect(await waiting).toMatchObject({ message: 'no connection was free in time' });
  await expect(run()).rejects.toMatchObject(refused);
  statements[0]?.resolve('late');
  expect(await calls[0]).toBe('late');
  const further = run();
  for (const index of [1, 2]) statements[index]?.resolve('late');
  expect(await Promise.all([calls[1], further])).toEqual(['late', 'late']);
});
