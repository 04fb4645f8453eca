import { LRUCache } from 'lru-cache';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import type { Ban, QuotaDecision } from './quota-decision.ts';

interface CachedBan {
  ban: Ban;
  readAtMs: number;
  /** Time that the reply took: the ban may end earlier by as much, since nobody knows when in it Redis read the ban. */
  replyMs: number;
  /** Set while one request asks Redis again; the others wait for its decision. */
  renewal?: Promise<QuotaDecision> | undefined;
}

const maxCachedBans = 10_000;
const freshMs = 1000;
/** A ban read more than 10 s before the outage may have been lifted since, so it is not trusted. */
const trustedBeforeOutageMs = 10_000;
/** Maximum difference between two readings of the same ban's end. */
const sameEndMs = 2000;

/** A banned client that goes on costs Redis one command a second and process, however many requests it sends. */
export function createBanCache({ now }: { now: () => number }) {
  const cache = new LRUCache<string, CachedBan>({ max: maxCachedBans });

  async function decideAndCache(
    keyHash: string,
    decide: () => Promise<QuotaDecision>,
    onBanObserved: ((ban: Ban) => void) | undefined,
  ) {
    const askedAtMs = now();
    const decision = await decide();
    if (decision.outcome === 'banned') {
      const isKnown = !decision.isNew && isSameBan(keyHash, decision);
      const readAtMs = now();
      cache.set(keyHash, { ban: decision, readAtMs, replyMs: readAtMs - askedAtMs });
      if (!isKnown) onBanObserved?.(decision);
    } else if (decision.outcome !== 'stale') cache.delete(keyHash);
    return decision;
  }

  /** A ban that an operator has prolonged or shortened is another one. */
  function isSameBan(keyHash: string, { remainingMs }: Ban): boolean {
    const cached = cache.get(keyHash);
    return cached !== undefined && Math.abs(banNow(cached).remainingMs - remainingMs) < sameEndMs;
  }

  function banNow({ ban, readAtMs }: CachedBan): Ban {
    const elapsedMs = now() - readAtMs;
    return {
      ...ban,
      remainingMs: ban.remainingMs - elapsedMs,
      nowMs: ban.nowMs + elapsedMs,
      isNew: false,
    };
  }

  return {
    /**
     * Returns a key's cached ban, or else decides, and caches the decision if it is a ban.
     * @param outageSinceMs start of an outage of Redis, by the clock of this cache; undefined while Redis is available.
     * During an outage, a ban that was read shortly before is believed until its end
     * @param onBanObserved called once for each ban, when this process first observes it
     */
    getOrDecide(
      keyHash: string,
      outageSinceMs: number | undefined,
      decide: () => Promise<QuotaDecision>,
      onBanObserved?: (ban: Ban) => void,
    ): Promise<QuotaDecision> {
      const cached = cache.get(keyHash);
      if (cached === undefined) return decideAndCache(keyHash, decide, onBanObserved);
      const askAgain = () => decideAndCache(keyHash, decide, onBanObserved);
      const ban = banNow(cached);
      // A request after Retry-After must not meet a ban that has ended in Redis.
      if (ban.remainingMs <= cached.replyMs) return askAgain();
      const isFresh = now() - cached.readAtMs < freshMs;
      if (isFresh || (outageSinceMs !== undefined && outageSinceMs - cached.readAtMs < trustedBeforeOutageMs))
        return Promise.resolve(ban);
      if (cached.renewal !== undefined)
        return cached.renewal.then((renewed) =>
          // Only a ban can be shared: any other decision was counted for the request that asked.
          renewed.outcome === 'banned' ? { ...renewed, isNew: false } : askAgain(),
        );
      cached.renewal = askAgain().finally(() => {
        cached.renewal = undefined;
      });
      return cached.renewal;
    },
  };
}

const maxLength = 100;

/**
 * Reason of a ban, for the client as well.
 * @param value of the ban in Redis: a number in a gateway's own ban, otherwise what an operator wrote
 * @returns undefined for a gateway's own ban, and without a text
 */
export function operatorsReason(value: string): string | undefined {
  const text = value
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
  return text === '' || consecutiveBan(text) !== undefined ? undefined : text;
}

/** @returns the number of consecutive bans, which is the value of a gateway's own ban */
export function consecutiveBan(value: string): number | undefined {
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/**
 * Adds a ban to the index of active bans. The bans themselves are one Redis key each, beside the other keys of their API
 * key, and no script can write to both places in Redis Cluster.
 *
 * @param id of the API key
 * @param endsAtMs Unix milliseconds
 */
export async function indexBan(
  redis: RedisClient,
  id: string,
  endsAtMs: number,
  nowMs: number,
): Promise<void> {
  await Promise.all([
    redis.zadd(redisKeys.bans, endsAtMs, id),
    redis.zremrangebyscore(redisKeys.bans, '-inf', nowMs),
  ]);
}
