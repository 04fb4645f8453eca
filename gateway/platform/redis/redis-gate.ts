import { Cluster, type Redis } from 'ioredis';
import type { Logger } from 'pino';
import { StacklessError } from '../../errors.ts';
import type { RedisClient } from './redis-client.ts';
import { isCommandError, isSlotMove } from './redis-errors.ts';

/** Redis is not connected, did not reply in time, or is not used at the moment. */
export class RedisUnavailable extends StacklessError {
  override name = 'RedisUnavailable';
}

export type RedisGate = ReturnType<typeof createRedisGate>;

interface RedisGateDependencies {
  /** Sends a PING that does not queue behind other commands. */
  ping: () => Promise<unknown>;
  connected: () => boolean;
  log: Logger;
  /** Called at each change: with true when Redis is used, with false when decisions are local. */
  onChange?: (open: boolean) => void;
  /** Duration of each command, replied or not. */
  seconds?: { observe(seconds: number): void };
  timeoutMs?: number;
}

const tickMs = 20;
const probeMs = 100;

/**
 * Circuit breaker before Redis. The first command without a reply in time shuts the gate, so that nobody else waits;
 * probes open it again. Time is counted in ticks of a timer, and an expired command gets one more turn of the event loop:
 * if this process itself was busy, the reply may be there, unread.
 */
export function createRedisGate(dependencies: RedisGateDependencies) {
  const { ping, connected, log, onChange, seconds, timeoutMs = 100 } = dependencies;
  const openingSteps: (() => Promise<void>)[] = [];
  const waiting = new Set<{ dueTick: number; expire: () => void }>();
  const timeoutTicks = Math.ceil(timeoutMs / tickMs) + 1;
  let open = false;
  let shutAtMs = 0;
  let tick = 0;
  let probing = false;
  let lastReason = '';
  let closed = false;
  // Both timers run only while they are needed: each would wake an idle process many times a second.
  let ticker: NodeJS.Timeout | undefined;
  let prober: NodeJS.Timeout | undefined;
  startProbing();

  function startTicking(): void {
    ticker ??= setInterval(onTick, tickMs).unref();
  }

  function onTick(): void {
    tick += 1;
    const [oldest] = waiting;
    if (oldest === undefined) {
      clearInterval(ticker);
      ticker = undefined;
    } else if (oldest.dueTick <= tick) setImmediate(expireOverdue);
  }

  function startProbing(): void {
    if (!closed) prober ??= setInterval(() => void probe(), probeMs).unref();
  }

  function stopProbing(): void {
    clearInterval(prober);
    prober = undefined;
  }

  function expireOverdue(): void {
    for (const entry of waiting) {
      // Entries are in order of sending.
      if (entry.dueTick > tick) break;
      entry.expire();
    }
  }

  /** @param onSettled called once, with the error if there is one, before the caller sees the reply */
  function withinTime<T>(command: () => Promise<T>, onSettled?: (error?: unknown) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = command();
      const entry = {
        dueTick: tick + timeoutTicks,
        expire: () => fail(new RedisUnavailable(`no reply within ${timeoutMs} ms`)),
      };
      waiting.add(entry);
      startTicking();
      pending.then(
        (reply) => {
          if (waiting.delete(entry)) onSettled?.();
          resolve(reply);
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
    shutAtMs = performance.now();
    log.error({ err: reason }, 'Redis is unavailable; known keys are limited locally, unknown keys get 503');
    onChange?.(false);
    startProbing();
  }

  async function probe(): Promise<void> {
    if (open || probing || !connected()) return;
    probing = true;
    try {
      await withinTime(ping);
      for (const step of openingSteps) await step();
      open = true;
      lastReason = '';
      if (shutAtMs > 0) log.warn('Redis is available again; quotas are counted there');
      stopProbing();
      onChange?.(true);
    } catch (error) {
      // Each reason once, and not at every attempt.
      if (String(error) !== lastReason) log.warn({ err: error }, 'Redis cannot be used yet');
      lastReason = String(error);
    } finally {
      probing = false;
    }
  }

  return {
    /** False while Redis is not used: callers then decide locally without waiting. */
    get open(): boolean {
      return open;
    },
    /** Time since which Redis is not used, by performance.now(); undefined while it is used. */
    get shutAtMs(): number | undefined {
      return open ? undefined : shutAtMs;
    },
    /**
     * Sends one command or script, and waits for its reply within the time limit.
     * @throws RedisUnavailable if Redis does not reply in time, or is not used. Errors that Redis replies with, such as
     * WRONGTYPE, are passed on and leave the gate open.
     */
    send<T>(command: () => Promise<T>): Promise<T> {
      if (!open) return Promise.reject(new RedisUnavailable('not used at the moment'));
      const startedAt = performance.now();
      const onSettled = (error?: unknown) => {
        seconds?.observe((performance.now() - startedAt) / 1000);
        // While one slot moves, keys of all other slots are still counted in Redis.
        if (error instanceof RedisUnavailable && !isSlotMove(error.cause)) shut(error);
      };
      return withinTime(command, onSettled);
    },
    /** Sends a PING, so that an outage is noticed without traffic. Never rejects. */
    async check(): Promise<void> {
      if (!open) return;
      await withinTime(ping).catch(shut);
    },
    /** Adds a step that runs each time before the gate opens. */
    beforeOpening(step: () => Promise<void>): void {
      openingSteps.push(step);
    },
    close(): void {
      closed = true;
      stopProbing();
      for (const entry of waiting) entry.expire();
    },
  };
}

/**
 * Rejects if Redis can't serve every key. Reads the clock, which takes no further command, and which the scripts need, too:
 * the Redis user may not be allowed to run TIME. Does not queue behind other commands.
 */
export async function pingRedis(redis: RedisClient, clock: Pick<RedisClock, 'sync'>): Promise<void> {
  await Promise.all([clock.sync(), redis instanceof Cluster ? pingCluster(redis) : undefined]);
}

const slotCount = 16_384;

/**
 * A cluster can serve if each slot has a master that is connected and sees the cluster as ok. If one is missing, the map
 * of the slots is fetched again: a replica may have taken over.
 */
async function pingCluster(cluster: Cluster): Promise<void> {
  const masters = new Map(cluster.nodes('master').map((node) => [nameOf(node), node]));
  try {
    await Promise.all(
      Array.from(ownersOf(cluster), async (owner) => {
        const node = masters.get(owner);
        if (node === undefined) throw new Error(`the master ${owner} is not connected`);
        const info = await node.cluster('INFO');
        if (!/^cluster_state:ok/m.test(info)) throw new Error(`the cluster is down as ${owner} sees it`);
      }),
    );
  } catch (error) {
    cluster.refreshSlotsCache();
    throw error;
  }
}

function ownersOf({ slots }: Cluster): Set<string> {
  const owners = new Set<string>();
  for (let slot = 0; slot < slotCount; slot += 1) {
    const owner = slots[slot]?.[0];
    if (owner === undefined) throw new Error(`no master serves the hash slot ${slot}`);
    owners.add(owner);
  }
  return owners;
}

function nameOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}

interface RedisClockDependencies {
  redis: Pick<RedisClient, 'time'>;
  /** Unix milliseconds by this process' clock. */
  now: () => number;
  /** Milliseconds by a clock that is never set. */
  monotonicMs?: () => number;
}

/** Any later time may be meant, also by a test with a clock of its own. */
const minimumMs = Date.UTC(2001);

export type RedisClock = ReturnType<typeof createRedisClock>;

/** Redis' clock as this process knows it, so that all instances agree on the time, during an outage of Redis as well. */
export function createRedisClock(dependencies: RedisClockDependencies) {
  const { redis, now, monotonicMs = () => performance.now() } = dependencies;
  /** Difference between Redis' clock and the monotonic one. */
  let offsetMs: number | undefined;
  return {
    /** Unix milliseconds by Redis' clock. By this process' own clock until `sync` has succeeded once. */
    now: () => (offsetMs === undefined ? now() : Math.floor(monotonicMs() + offsetMs)),
    /** Reads the clock of Redis. Rejects if Redis is unavailable or sends no time; the last reading then goes on. */
    async sync(): Promise<void> {
      const sentAtMs = monotonicMs();
      const [seconds, micros] = await redis.time();
      const receivedAtMs = monotonicMs();
      const redisMs = Number(seconds) * 1000 + Number(micros) / 1000;
      // A malformed reply can shift the replies of a connection by one.
      if (!(redisMs > minimumMs)) throw new Error('Redis sent something else than its time');
      // Redis read its clock between the two. What is known stays if it agrees with that, and else moves no further than it has
      // to: a reading that took long says little.
      const least = redisMs - receivedAtMs;
      const most = redisMs - sentAtMs;
      offsetMs = Math.min(Math.max(offsetMs ?? (least + most) / 2, least), most);
    },
  };
}
