import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { WindowState } from '../limits/window-states.ts';
import { addressGroup } from '../platform/http/client-address.ts';
import { defineScripts } from '../platform/redis/define-scripts.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import type { RedisGate } from '../platform/redis/redis-gate.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

/** Limit of one address for requests without a valid key. Requests with a valid key never touch it. */
export interface AddressLimit {
  /** Counts one request against the address. Shortly after a refusal it is refused again, without a Redis command. */
  charge(address: string): Promise<{ allowed: boolean; window: WindowState }>;
  /** State of the address' window. Counts nothing. */
  peek(address: string): Promise<WindowState>;
  /** Whether the address was refused within the last second. */
  wasRefused(address: string): boolean;
}

interface AddressLimitDependencies {
  redis: RedisClient;
  gate: RedisGate;
  /** Requests a minute and address, as an operator last set it. */
  limit: () => number;
}

const windowSeconds = 60;
const windowMs = windowSeconds * 1000;

/**
 * Replaces the library's own script, which keeps an expiry that somebody removed or extended, or that is far off because
 * Redis' clock was set back: the address would be locked out for that long.
 */
const incrementScript = `
  local used = redis.call('INCRBY', KEYS[1], ARGV[1])
  local windowMs = ARGV[2] * 1000
  local leftMs = redis.call('PTTL', KEYS[1])
  if leftMs < 0 or leftMs > windowMs then
    redis.call('PEXPIRE', KEYS[1], windowMs)
    leftMs = windowMs
  end
  return { used, leftMs }
`;

export function createAddressLimit({ redis, gate, limit }: AddressLimitDependencies): AddressLimit {
  const options = { points: limit(), duration: windowSeconds, keyPrefix: redisKeys.anonymousPrefix };
  // Not the time of day: a clock that is set back must not prolong a refusal.
  const refused = createRefusedAddresses({ now: () => performance.now() });
  const inMemory = new RateLimiterMemory(options);
  const inRedis = new RateLimiterRedis({
    ...options,
    storeClient: redis,
    customIncrTtlLuaScript: incrementScript,
    insuranceLimiter: inMemory,
  });
  // Replaces the library's own method, which fails when the script cache is emptied repeatedly.
  defineScripts(redis, { rlflxIncr: { numberOfKeys: 1, lua: incrementScript } });

  /** The library falls back to memory after an error; the gate adds the timeout and remembers an outage. */
  async function withLimiter<T>(
    use: (limiter: RateLimiterRedis | RateLimiterMemory) => Promise<T>,
  ): Promise<T> {
    inRedis.points = limit();
    inMemory.points = limit();
    if (!gate.open) return use(inMemory);
    try {
      return await gate.send(() => settle(use(inRedis))).then(unsettle);
    } catch (error) {
      if (error instanceof RateLimiterRes) throw error;
      return use(inMemory);
    }
  }

  function windowOf(result: RateLimiterRes | null): WindowState {
    return {
      limit: limit(),
      remaining: result === null ? limit() : Math.max(0, limit() - result.consumedPoints),
      resetMs: result === null ? windowMs : Math.min(Math.max(0, result.msBeforeNext), windowMs),
    };
  }

  return {
    async charge(address) {
      const group = addressGroup(address);
      const known = refused.find(group);
      if (known !== undefined) return { allowed: false, window: known };
      refused.prolong(group);
      try {
        const result = await withLimiter((limiter) => limiter.consume(group));
        refused.forget(group);
        return { allowed: true, window: windowOf(result) };
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        const window = windowOf(refusal);
        refused.remember(group, window);
        return { allowed: false, window };
      }
    },
    async peek(address) {
      const group = addressGroup(address);
      return refused.find(group) ?? windowOf(await withLimiter((limiter) => limiter.get(group)));
    },
    wasRefused: (address) => refused.find(addressGroup(address)) !== undefined,
  };
}

/** The library throws a refusal, which is no outage: it passes the gate as a value. */
type Settled<T> = { value: T } | { refusal: unknown };

function settle<T>(reply: Promise<T>): Promise<Settled<T>> {
  return reply.then(
    (value) => ({ value }),
    (refusal: unknown) => {
      if (refusal instanceof RateLimiterRes) return { refusal };
      throw refusal;
    },
  );
}

function unsettle<T>(settled: Settled<T>): T {
  if ('refusal' in settled) throw settled.refusal;
  return settled.value;
}

export interface RefusedAddresses {
  /** The used-up window of an address or network that was refused within the last second, as of now. */
  find(group: string): WindowState | undefined;
  remember(group: string, window: WindowState): void;
  /** Prolongs a refusal while one request asks Redis again, so that the others need not. */
  prolong(group: string): void;
  forget(group: string): void;
}

interface Refusal {
  limit: number;
  endsAtMs: number;
  freshUntilMs: number;
}

const maxRefusals = 10_000;
/** Time after which an operator's higher limit takes effect. */
const freshMs = 1000;

/** Remembers addresses over their limit. A flood from one of them costs Redis one command a second and process. */
export function createRefusedAddresses({ now }: { now: () => number }): RefusedAddresses {
  const refusals = new LRUCache<string, Refusal>({ max: maxRefusals });
  return {
    find(group) {
      const refusal = refusals.get(group);
      if (refusal === undefined) return undefined;
      const { limit, endsAtMs, freshUntilMs } = refusal;
      if (now() >= Math.min(endsAtMs, freshUntilMs)) return undefined;
      return { limit, remaining: 0, resetMs: endsAtMs - now() };
    },
    remember(group, { limit, resetMs }) {
      refusals.set(group, { limit, endsAtMs: now() + resetMs, freshUntilMs: now() + freshMs });
    },
    prolong(group) {
      const refusal = refusals.get(group);
      if (refusal !== undefined) refusal.freshUntilMs = now() + freshMs;
    },
    forget: (group) => void refusals.delete(group),
  };
}
