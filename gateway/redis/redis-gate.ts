import type { Logger } from 'pino';
import { isCommandError, isSlotMove } from './redis-errors.ts';

/** Redis did not answer: not connected, too slow, or given up on for the moment. */
export class RedisUnavailable extends Error {
  override name = 'RedisUnavailable';
}

export interface RedisGate {
  /** False while Redis is given up on: callers then decide locally without waiting. */
  readonly open: boolean;
  /** When it was last given up on, by performance.now(); undefined while it is used. */
  readonly shutAtMs: number | undefined;
  /** How often it was given up on so far: whatever was asked before that has been decided on without it. */
  readonly outages: number;
  /**
   * Sends one command (or script) and waits at most the time limit for its answer.
   * @throws RedisUnavailable where Redis does not answer in time, or is known not to.
   * Errors that Redis itself answers with, such as WRONGTYPE, are passed on and leave the gate open.
   */
  send<T>(command: () => Promise<T>): Promise<T>;
  /** Sends a PING, so that an outage is noticed without traffic. Never rejects. */
  check(): Promise<void>;
  /** Runs before the gate opens again, and when it opens for the first time. */
  beforeOpening(step: () => Promise<void>): void;
  close(): void;
}

interface RedisGateDependencies {
  /** Sends a PING that may wait in no queue behind other commands. */
  ping: () => Promise<unknown>;
  connected: () => boolean;
  log: Logger;
  /** Told at each change: true when Redis is used, false when decisions are local. */
  onChange?: (open: boolean) => void;
  /** Told how long each command took, whether it was answered or given up. */
  onAnswer?: (ms: number) => void;
  timeoutMs?: number;
}

const tickMs = 20;
const probeMs = 100;

/**
 * Circuit breaker before Redis. The first command that is not answered in time shuts the gate, so that nobody
 * else waits; probes open it again.
 *
 * Time is counted in ticks of the event loop's own timer, and an expired command gets one more turn of the loop
 * before it is given up: where this process itself was busy for long, the answer may be there, unread.
 */
export function createRedisGate(dependencies: RedisGateDependencies): RedisGate {
  const { ping, connected, log, onChange, onAnswer, timeoutMs = 100 } = dependencies;
  const openingSteps: (() => Promise<void>)[] = [];
  const waiting = new Set<{ dueTick: number; expire: () => void }>();
  const timeoutTicks = Math.ceil(timeoutMs / tickMs) + 1;
  let open = false;
  let outages = 0;
  let shutAtMs = 0;
  let everOpen = false;
  let tick = 0;
  let probing = false;
  let lastReason = '';

  const ticker = setInterval(() => {
    tick += 1;
    setImmediate(expireOverdue);
  }, tickMs);
  const prober = setInterval(() => void probe(), probeMs);
  ticker.unref();
  prober.unref();

  function expireOverdue(): void {
    for (const entry of waiting) {
      // In order of sending, so the first one that is not due ends the search.
      if (entry.dueTick > tick) break;
      entry.expire();
    }
  }

  /** @param onSettled told once, of the error if there is one, before anybody who awaits the answer */
  function withinTime<T>(command: () => Promise<T>, onSettled?: (error?: unknown) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = command();
      const entry = {
        dueTick: tick + timeoutTicks,
        expire: () => fail(new RedisUnavailable(`no answer within ${timeoutMs} ms`)),
      };
      waiting.add(entry);
      pending.then(
        (answer) => {
          if (waiting.delete(entry)) onSettled?.();
          resolve(answer);
        },
        (error: unknown) =>
          fail(isCommandError(error) ? error : new RedisUnavailable('connection lost', { cause: error })),
      );

      function fail(error: Error): void {
        if (waiting.delete(entry)) onSettled?.(error);
        reject(error);
      }
    });
  }

  function shut(reason: unknown): void {
    if (!open) return;
    open = false;
    outages += 1;
    shutAtMs = performance.now();
    log.error({ err: reason }, 'Redis does not answer: known keys are limited locally, unknown keys get 503');
    onChange?.(false);
  }

  async function probe(): Promise<void> {
    if (open || probing || !connected()) return;
    probing = true;
    try {
      await withinTime(ping);
      for (const step of openingSteps) await step();
      open = true;
      lastReason = '';
      if (everOpen) log.warn('Redis answers again: quotas are counted there');
      everOpen = true;
      onChange?.(true);
    } catch (error) {
      // Each reason once, not at every attempt.
      if (String(error) !== lastReason) log.warn({ err: error }, 'Redis cannot be used yet');
      lastReason = String(error);
    } finally {
      probing = false;
    }
  }

  return {
    get open() {
      return open;
    },
    get shutAtMs() {
      return open ? undefined : shutAtMs;
    },
    get outages() {
      return outages;
    },
    send(command) {
      if (!open) return Promise.reject(new RedisUnavailable('given up on for the moment'));
      const startedAt = performance.now();
      return withinTime(command, (error) => {
        onAnswer?.(performance.now() - startedAt);
        // Of a slot that moves, all others go on being counted in Redis.
        if (error instanceof RedisUnavailable && !isSlotMove(error.cause)) shut(error);
      });
    },
    async check() {
      if (!open) return;
      await withinTime(ping).catch(shut);
    },
    beforeOpening(step) {
      openingSteps.push(step);
    },
    close() {
      clearInterval(ticker);
      clearInterval(prober);
      for (const entry of waiting) entry.expire();
    },
  };
}
