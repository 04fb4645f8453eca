import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible';
import type { WindowState } from '../limits/windows.ts';
import { addressGroup } from '../platform/http/addresses.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import type { RedisGate } from '../platform/redis/redis-gate.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';

export type AddressLimit = ReturnType<typeof createAddressLimit>;

interface AddressLimitDependencies {
  redis: RedisClient;
  gate: RedisGate;
  /** Requests a minute and address, as an operator last set it. */
  limit: () => number;
}

const windowSeconds = 60;
const windowMs = windowSeconds * 1000;

/** Limit of one address for requests without a valid key. Requests with a valid key never touch it. */
export function createAddressLimit({ redis, gate, limit }: AddressLimitDependencies) {
  // The limiters only count: operators change the limit while this process runs.
  const points = Number.MAX_SAFE_INTEGER;
  const options = { points, duration: windowSeconds, keyPrefix: redisKeys.anonymousPrefix };
  // Not the time of day: a clock that is set back must not prolong a refusal.
  const refused = createRefusedAddresses({ now: () => performance.now() });
  const inMemory = new RateLimiterMemory(options);
  const inRedis = new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: inMemory });

  /** The library falls back to memory after an error; the gate adds the timeout and remembers an outage. */
  async function withLimiter<T>(
    use: (limiter: RateLimiterRedis | RateLimiterMemory) => Promise<T>,
  ): Promise<T> {
    if (!gate.open) return use(inMemory);
    try {
      return await gate.send(() => use(inRedis));
    } catch {
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
    /** Counts one request against the address. Shortly after a refusal it is refused again, without a Redis command. */
    async charge(address: string): Promise<{ allowed: boolean; window: WindowState }> {
      const group = addressGroup(address);
      const known = refused.find(group);
      if (known !== undefined) return { allowed: false, window: known };
      refused.prolong(group);
      const result = await withLimiter((limiter) => limiter.penalty(group));
      const window = windowOf(result);
      const allowed = result.consumedPoints <= window.limit;
      if (allowed) refused.forget(group);
      else refused.remember(group, window);
      return { allowed, window };
    },
    /** State of the address' window. Counts nothing. */
    async peek(address: string): Promise<WindowState> {
      const group = addressGroup(address);
      return refused.find(group) ?? windowOf(await withLimiter((limiter) => limiter.get(group)));
    },
    /** Whether the address was refused within the last second. */
    wasRefused: (address: string) => refused.find(addressGroup(address)) !== undefined,
  };
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
export function createRefusedAddresses({ now }: { now: () => number }) {
  const refusals = new LRUCache<string, Refusal>({ max: maxRefusals });
  return {
    /** The used-up window of an address or network that was refused within the last second, as of now. */
    find(group: string): WindowState | undefined {
      const refusal = refusals.get(group);
      if (refusal === undefined) return undefined;
      const { limit, endsAtMs, freshUntilMs } = refusal;
      if (now() >= Math.min(endsAtMs, freshUntilMs)) return undefined;
      return { limit, remaining: 0, resetMs: endsAtMs - now() };
    },
    remember(group: string, { limit, resetMs }: WindowState): void {
      refusals.set(group, { limit, endsAtMs: now() + resetMs, freshUntilMs: now() + freshMs });
    },
    /** Prolongs a refusal while one request asks Redis again, so that the others need not. */
    prolong(group: string): void {
      const refusal = refusals.get(group);
      if (refusal !== undefined) refusal.freshUntilMs = now() + freshMs;
    },
    forget: (group: string) => void refusals.delete(group),
  };
}
