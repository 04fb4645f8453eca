import { stat } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UnexpectedValue } from '../../../../../gateway/platform/redis/redis-errors.ts';
import {
  createRedisGate,
  RedisUnavailable,
  type RedisGate,
} from '../../../../../gateway/platform/redis/redis-gate.ts';

const neverReply = () => new Promise<never>(() => {});
const gates: RedisGate[] = [];

/** Time passes when the test says so. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'setTimeout'] });
});

afterEach(() => {
  for (const gate of gates.splice(0)) gate.close();
  vi.useRealTimers();
});

/** A gate to a fake Redis whose connection and PING the test controls. */
function createGate(timeoutMs = 40) {
  const redis = { connected: true, ping: (): Promise<unknown> => Promise.resolve('PONG'), pings: 0 };
  const changes: boolean[] = [];
  const gate = createRedisGate({
    ping() {
      redis.pings += 1;
      return redis.ping();
    },
    connected: () => redis.connected,
    log: pino({ level: 'silent' }),
    onChange: (open) => changes.push(open),
    timeoutMs,
  });
  gates.push(gate);
  return { gate, redis, changes };
}

async function waitUntilOpen(gate: RedisGate): Promise<void> {
  for (let ms = 0; ms < 5000 && !gate.open; ms += 10) await pass(10);
  expect(gate.open).toBe(true);
}

async function createOpenGate(timeoutMs?: number) {
  const created = createGate(timeoutMs);
  await waitUntilOpen(created.gate);
  return created;
}

function blockEventLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const replyError = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });

describe('a gate that has not opened yet', () => {
  test.each([
    ['fails', () => Promise.reject(new Error('LOADING'))],
    ['gets no reply', neverReply],
  ])('stays shut while PING %s, and retries', async (_name, ping) => {
    const { gate, redis, changes } = createGate();
    redis.ping = ping;
    for (let ms = 0; ms < 5000 && redis.pings < 2; ms += 10) await pass(10);
    expect(redis.pings).toBe(2);
    expect(changes).toEqual([]);
    redis.ping = () => Promise.resolve('PONG');
    await waitUntilOpen(gate);
  });
});

describe('an open gate', () => {
  test.each(['LOADING', 'READONLY', 'MASTERDOWN', 'CLUSTERDOWN', 'MISCONF', 'OOM', 'NOAUTH'])(
    'shuts when Redis replies %s, which fails every command',
    async (code) => {
      const { gate, redis } = await createOpenGate();
      redis.connected = false;
      const sent = gate.send(() => Promise.reject(replyError(`${code} not now`)));
      await expect(sent).rejects.toBeInstanceOf(RedisUnavailable);
      expect(gate.open).toBe(false);
    },
  );

  test.each([
    replyError('WRONGTYPE Operation against a key'),
    replyError('ERR value is not an integer'),
    replyError('LOADINGZONE is no code'),
    new UnexpectedValue('gw:customer:{cus_1}', 'is invalid'),
  ])('stays open and passes on an error of one command: %s', async (cause) => {
    const { gate, changes } = await createOpenGate();
    await expect(gate.send(() => Promise.reject(cause))).rejects.toBe(cause);
    expect(gate.open).toBe(true);
    expect(changes).toEqual([true]);
  });

  test('accepts a reply that arrived while the event loop was blocked', async () => {
    // Also the gate's timers are real ones.
    vi.useRealTimers();
    const { gate } = createGate(20);
    await expect.poll(() => gate.open).toBe(true);
    await nextTurn();
    const reply = gate.send(async () => {
      const first = stat(import.meta.filename);
      blockEventLoop(300);
      await first;
      // The reply has arrived, unread, when the timeout expires.
      const second = stat(import.meta.filename);
      blockEventLoop(300);
      return (await second).isFile();
    });
    expect(await reply).toBe(true);
    expect(gate.open).toBe(true);
  });
});

describe('before the gate opens', () => {
  test('steps run again after each outage', async () => {
    const { gate, redis, changes } = createGate();
    let runs = 0;
    gate.beforeOpening(async () => void (runs += 1));
    await waitUntilOpen(gate);
    redis.connected = false;
    const unanswered = gate.send(neverReply).catch((error: unknown) => error);
    await pass(300);
    expect(await unanswered).toBeInstanceOf(RedisUnavailable);
    redis.connected = true;
    await waitUntilOpen(gate);
    expect(runs).toBe(2);
    expect(changes).toEqual([true, false, true]);
  });

  test('a step that fails keeps the gate shut until it succeeds', async () => {
    const { gate, changes } = createGate();
    let attempts = 0;
    gate.beforeOpening(async () => {
      if ((attempts += 1) < 3) throw new Error('connection lost');
    });
    await waitUntilOpen(gate);
    expect(attempts).toBe(3);
    expect(changes).toEqual([true]);
  });
});
