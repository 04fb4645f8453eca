import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createLiveFeed,
  type LiveFeed,
  type LivePoint,
} from '../../../../../gateway/admin/live/live-feed.ts';
import type { LiveState } from '../../../../../gateway/admin/live/live-state.ts';

let readers: number;
let readings: number;
let failing: boolean;
let errors: unknown[];
let feed: LiveFeed;

const summary = {
  requests: 2,
  byStatus: { '2xx': 2 },
  refusals: { minute: 1, day: 0 },
  bans: 0,
  bannedRequests: 0,
  localDecisions: 0,
  byPlan: {},
  latencyMs: { served: { p50: 1, p90: 2, p99: 3 }, all: null },
};

function stateOf(reading: number): LiveState {
  const at = new Date(reading * 1000).toISOString();
  return {
    at,
    summary: 'All is well.',
    problems: [],
    redis: { available: true, servers: [] },
    traffic: { at, seconds: 1, counted: summary, perSecond: summary },
    activeBans: 0,
    gateways: [],
    withoutStatus: 0,
    upstreams: [],
    recent: { redisP99Ms: null, upstreamP99Ms: null, errors: {} },
    busiestKeys: [],
  };
}

beforeEach(() => {
  vi.useFakeTimers();
  readers = 0;
  readings = 0;
  failing = false;
  errors = [];
  feed = createLiveFeed({
    createReader() {
      readers += 1;
      return () => {
        readings += 1;
        return failing ? Promise.reject(new Error('a bug')) : Promise.resolve(stateOf(readings));
      };
    },
    logUnexpected: (error) => errors.push(error),
  });
});
afterEach(() => {
  feed.close();
  vi.useRealTimers();
});

function openConsole() {
  const events: { name: string; id: string | undefined; content: unknown }[] = [];
  const leave = feed.subscribe({
    send(text) {
      const [, name = '', id, content = ''] = /^event: (.+)\n(?:id: (.+)\n)?data: (.+)\n\n$/.exec(text) ?? [];
      events.push({ name, id, content: JSON.parse(content) });
    },
  });
  return { events, leave };
}

test('nothing is computed while no console is open', async () => {
  await vi.advanceTimersByTimeAsync(5000);
  expect(readings).toBe(0);
  const { leave } = openConsole();
  await vi.advanceTimersByTimeAsync(3000);
  expect(readings).toBe(4);
  leave();
  await vi.advanceTimersByTimeAsync(5000);
  expect(readings).toBe(4);
  openConsole();
  await vi.advanceTimersByTimeAsync(0);
  expect(readers).toBe(2);
});

test('all consoles get the same computation, one a second', async () => {
  const consoles = Array.from({ length: 10 }, openConsole);
  await vi.advanceTimersByTimeAsync(2000);
  expect(readings).toBe(3);
  for (const { events } of consoles) {
    expect(events.map(({ name, id }) => [name, id])).toEqual([
      ['history', undefined],
      ['state', '1'],
      ['state', '2'],
      ['state', '3'],
    ]);
    expect(events).toEqual(consoles[0]?.events);
  }
});

test('a console that comes later gets the last five minutes and the newest state at once', async () => {
  openConsole();
  await vi.advanceTimersByTimeAsync(400_000);
  const { events } = openConsole();
  expect(events.map(({ name }) => name)).toEqual(['history', 'state']);
  const points = events[0]?.content as LivePoint[];
  expect(points).toHaveLength(300);
  expect(points.at(-1)).toEqual({
    at: stateOf(401).at,
    seconds: 1,
    byStatus: { '2xx': 2 },
    refusals: 1,
    bannedRequests: 0,
    p50: 1,
    p99: 3,
  });
});

test('a failure is logged, and the next second is computed', async () => {
  failing = true;
  const { events } = openConsole();
  await vi.advanceTimersByTimeAsync(1000);
  expect(errors).toHaveLength(2);
  failing = false;
  await vi.advanceTimersByTimeAsync(1000);
  expect(events.map(({ name }) => name)).toEqual(['history', 'state']);
});
