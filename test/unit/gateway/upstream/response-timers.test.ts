import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createResponseTimers, PendingResponse } from '../../../../gateway/upstream/response-timers.ts';

const timeoutMs = 1000;
/** Timers are checked once per 2% of the timeout. */
const checkIntervalMs = 20;
let timedOut: string[] = [];
const stalled = new Set<string>();

class NamedResponse extends PendingResponse {
  readonly #name: string;
  readonly #extensions: number[];

  /** @param extensions number of times that its timer is started once more */
  constructor(name: string, extensions = 0) {
    super();
    this.#name = name;
    this.#extensions = Array.from({ length: extensions }, (_, index) => index);
  }

  override onTimeout(): boolean {
    timedOut.push(this.#name);
    return this.#extensions.pop() !== undefined;
  }

  override onStall(): void {
    stalled.add(this.#name);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  timedOut = [];
  stalled.clear();
});

afterEach(() => {
  vi.useRealTimers();
});

test('each response times out after its own timeout, counted from its last start', () => {
  const timers = createResponseTimers(timeoutMs);
  const [first, second, third] = [
    new NamedResponse('first'),
    new NamedResponse('second'),
    new NamedResponse('third'),
  ];
  timers.start(first);
  vi.advanceTimersByTime(300);
  timers.start(second);
  vi.advanceTimersByTime(300);
  timers.start(third);
  timers.start(first);
  vi.advanceTimersByTime(699);
  expect(timedOut).toEqual([]);
  vi.advanceTimersByTime(1 + checkIntervalMs);
  expect(timedOut).toEqual(['second']);
  vi.advanceTimersByTime(300);
  expect(timedOut).toEqual(['second', 'third', 'first']);
  vi.advanceTimersByTime(10 * timeoutMs);
  expect(timedOut).toHaveLength(3);
});

test.each([
  ['the first', 0],
  ['a middle', 1],
  ['the last', 2],
])('stopping %s timer leaves the others running', (_name, stopped) => {
  const timers = createResponseTimers(timeoutMs);
  const responses = [new NamedResponse('0'), new NamedResponse('1'), new NamedResponse('2')];
  for (const response of responses) timers.start(response);
  const response = responses[stopped];
  if (response === undefined) throw new Error('no such response');
  timers.stop(response);
  // A second stop has no effect.
  timers.stop(response);
  vi.advanceTimersByTime(timeoutMs + checkIntervalMs);
  expect(timedOut).toEqual(['0', '1', '2'].filter((name) => name !== String(stopped)));
  // A stopped timer can be started again.
  timers.start(response);
  vi.advanceTimersByTime(timeoutMs + checkIntervalMs);
  expect(timedOut.at(-1)).toBe(String(stopped));
});

test('a timer whose onTimeout returns true runs for the whole timeout again', () => {
  const timers = createResponseTimers(timeoutMs);
  timers.start(new NamedResponse('extended', 2));
  vi.advanceTimersByTime(timeoutMs - 1);
  expect(timedOut).toHaveLength(0);
  vi.advanceTimersByTime(1 + checkIntervalMs);
  expect(timedOut).toHaveLength(1);
  vi.advanceTimersByTime(timeoutMs - checkIntervalMs - 1);
  expect(timedOut).toHaveLength(1);
  vi.advanceTimersByTime(timeoutMs + 3 * checkIntervalMs);
  expect(timedOut).toHaveLength(3);
  vi.advanceTimersByTime(10 * timeoutMs);
  expect(timedOut).toHaveLength(3);
});

test('no interval runs while no response is pending', () => {
  const timers = createResponseTimers(timeoutMs);
  const response = new NamedResponse('only');
  timers.start(response);
  expect(vi.getTimerCount()).toBe(1);
  timers.stop(response);
  vi.advanceTimersByTime(checkIntervalMs);
  expect(vi.getTimerCount()).toBe(0);
  timers.start(response);
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(timeoutMs + checkIntervalMs);
  expect(timedOut).toEqual(['only']);
  expect(vi.getTimerCount()).toBe(0);
});

test('a response stalls after a fifth of its timeout, whatever becomes of the others', () => {
  const timers = createResponseTimers(timeoutMs);
  const second = new NamedResponse('second');
  for (const response of [new NamedResponse('first'), second, new NamedResponse('third')])
    timers.start(response);
  vi.advanceTimersByTime(150);
  timers.start(second);
  expect(stalled).toEqual(new Set());
  vi.advanceTimersByTime(100);
  expect(stalled).toEqual(new Set(['first', 'third']));
  vi.advanceTimersByTime(150);
  expect(stalled).toEqual(new Set(['first', 'second', 'third']));
  expect(timedOut).toEqual([]);
});
