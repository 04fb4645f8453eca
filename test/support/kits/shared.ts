import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

type Hook = (run: () => Promise<void>) => void;
type Stop<T> = (started: T) => unknown;

/**
 * Starts something before the tests of a file or `describe`, and stops it after them, the last one first.
 * @returns a handle of it for tests and hooks
 */
export const shared = <T extends object>(start: () => Promise<T>, stop?: Stop<T>): T =>
  startBetween(beforeAll, afterAll, { start, stop });

/** Starts something before each test, and stops it after it. */
export const fresh = <T extends object>(start: () => Promise<T>, stop?: Stop<T>): T =>
  startBetween(beforeEach, afterEach, { start, stop });

const dispose = (started: Partial<AsyncDisposable & Disposable>) =>
  started[Symbol.asyncDispose]?.() ?? started[Symbol.dispose]?.();

function startBetween<T extends object>(
  before: Hook,
  after: Hook,
  { start, stop = dispose }: { start: () => Promise<T>; stop: Stop<T> | undefined },
): T {
  let started: T | undefined;
  before(async () => {
    started = await start();
  });
  after(async () => {
    const ended = started;
    started = undefined;
    if (ended !== undefined) await stop(ended);
  });
  const current = () => {
    if (started === undefined)
      throw new Error('it is used before the hook that starts it, or after it was stopped');
    return started;
  };
  return new Proxy({} as T, {
    get(_, name) {
      const target = current();
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
    getPrototypeOf: () => Reflect.getPrototypeOf(current()),
  });
}
