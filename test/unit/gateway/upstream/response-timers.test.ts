import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createResponseTimers, PendingResponse } from '../../../../gateway/upstream/response-timers.ts';

const timeoutMs = 1000;
/** How much later an answer may be found to be late. */
const latenessMs = 20;
let timedOut: string[] = [];

class ClientResponse extends PendingResponse {
  readonly #name: string;
  readonly #extensions: number[];

  /** @param extensions how often it is given more time */
  constructor(name: string, extensions = 0) {
    super();
    this.#name = name;
    this.#extensions = Array.from({ length: extensions }, (_, index) => index);
  }

  override onTimeout(): boolean {
    timedOut.push(this.#name);
    return this.#extensions.pop() !== undefined;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  timedOut = [];
});

afterEach(() => {
  vi.useRealTimers();
});

test('each answer has its time, from when it was last started', () => {
  const timers = createResponseTimers(timeoutMs);
  const [first, second, third] = [
    new ClientResponse('first'),
    new ClientResponse('second'),
    new ClientResponse('third'),
  ];
  timers.start(first);
  vi.advanceTimersByTime(300);
  timers.start(second);
  vi.advanceTimersByTime(300);
  timers.start(third);
  timers.start(first);
  vi.advanceTimersByTime(699);
  expect(timedOut).toEqual([]);
  vi.advanceTimersByTime(1 + latenessMs);
  expect(timedOut).toEqual(['second']);
  vi.advanceTimersByTime(300);
  expect(timedOut).toEqual(['second', 'third', 'first']);
  vi.advanceTimersByTime(10 * timeoutMs);
  expect(timedOut).toHaveLength(3);
});

test.each([
  ['the first', 0],
  ['one in the middle', 1],
  ['the last', 2],
])('%s that is stopped leaves the others as they are', (_name, stopped) => {
  const timers = createResponseTimers(timeoutMs);
  const responses = [new ClientResponse('0'), new ClientResponse('1'), new ClientResponse('2')];
  for (const response of responses) timers.start(response);
  const response = responses[stopped];
  if (response === undefined) throw new Error('there are three of them');
  timers.stop(response);
  // Stopped already.
  timers.stop(response);
  vi.advanceTimersByTime(timeoutMs + latenessMs);
  expect(timedOut).toEqual(['0', '1', '2'].filter((name) => name !== String(stopped)));
  // And it can be used once more.
  timers.start(response);
  vi.advanceTimersByTime(timeoutMs + latenessMs);
  expect(timedOut.at(-1)).toBe(String(stopped));
});

test('one that asks for more time gets as much again', () => {
  const timers = createResponseTimers(timeoutMs);
  timers.start(new ClientResponse('patient', 2));
  vi.advanceTimersByTime(timeoutMs - 1);
  expect(timedOut).toHaveLength(0);
  vi.advanceTimersByTime(1 + latenessMs);
  expect(timedOut).toHaveLength(1);
  vi.advanceTimersByTime(timeoutMs - latenessMs - 1);
  expect(timedOut).toHaveLength(1);
  vi.advanceTimersByTime(timeoutMs + 3 * latenessMs);
  expect(timedOut).toHaveLength(3);
  vi.advanceTimersByTime(10 * timeoutMs);
  expect(timedOut).toHaveLength(3);
});

test('nothing runs while no answer is awaited', () => {
  const timers = createResponseTimers(timeoutMs);
  const response = new ClientResponse('only');
  timers.start(response);
  expect(vi.getTimerCount()).toBe(1);
  timers.stop(response);
  vi.advanceTimersByTime(latenessMs);
  expect(vi.getTimerCount()).toBe(0);
  timers.start(response);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(timeoutMs + latenessMs);
  expect(timedOut).toEqual(['only']);
  expect(vi.getTimerCount()).toBe(0);
});
