import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/**
 * Finds API keys that this process has served and Redis has lost: it came back empty, or from a backup older than the key. A
 * key that somebody has deleted is not lost. Its use is still recorded, in the same slot of a Redis Cluster.
 */
export interface LostKeys {
  /** Notes that the record of a key was read and is valid. */
  found(keyHash: string): void;
  /**
   * @param readAgoMs time since the record of the key, which Redis lacks now, was last read
   * @returns whether somebody has deleted it, or has said since that its loss is meant; false if it is lost, or back
   */
  wasDeleted(keyHash: string, readAgoMs: number): Promise<boolean>;
  /** Number of keys that are known to be lost. */
  count(): number;
  /** Notices a loss without traffic, by the key that was read last, and that lost keys are back. */
  check(): Promise<void>;
}

/** Maximum number of keys, the same as in the cache of records. */
const maxLost = 100_000;
const pageSize = 100;

interface LostKeysDependencies {
  redis: RedisClient;
  log: Logger;
  /** Called with the number of lost keys when it changes. */
  onCount: (lost: number) => void;
  /** Redis' clock, since an operator's word is compared with it. */
  now: () => number;
}

export function createLostKeys({ redis, log, onCount, now }: LostKeysDependencies): LostKeys {
  /** When each lost key was last read. The ones that were looked for last come last. */
  const lost = new Map<string, number>();
  let last: { keyHash: string; readAtMs: number } | undefined;

  function forget(keyHash: string): void {
    if (!lost.delete(keyHash)) return;
    onCount(lost.size);
    if (lost.size === 0) log.warn('no API key is lost any more');
  }

  function remember(keyHash: string, readAtMs: number): void {
    if (lost.size === 0) {
      log.error(
        'Redis has lost API keys that were served, and came back empty or older: they get 503 until they are imported, or until ops keys accept-loss',
      );
    }
    lost.delete(keyHash);
    if (lost.size < maxLost) lost.set(keyHash, readAtMs);
    onCount(lost.size);
  }

  async function look(keyHash: string, readAtMs: number): Promise<'found' | 'lost' | 'deleted'> {
    const isFound = async () => (await redis.exists(redisKeys.apiKey(keyHash))) === 1;
    const isThere = await isFound();
    if (!isThere && (await lacks(keyHash, readAtMs))) {
      remember(keyHash, readAtMs);
      return 'lost';
    }
    forget(keyHash);
    // It may have come back in between, and have been used.
    return isThere || (await isFound()) ? 'found' : 'deleted';
  }

  /** Whether Redis also lacks the use that a served key has left, and an operator's later word. */
  async function lacks(keyHash: string, readAtMs: number): Promise<boolean> {
    const [acceptedAtMs, ...ids] = await Promise.all([
      redis.get(redisKeys.lossAccepted),
      // Use that is recorded while the key is missing has no id.
      ...lastTwoMonths(now()).map((month) => redis.hget(redisKeys.usageMonth(keyHash, month), 'id')),
    ]);
    return ids.every((id) => id === null) && readAtMs > (Number(acceptedAtMs) || 0);
  }

  return {
    found(keyHash) {
      last = { keyHash, readAtMs: now() };
      forget(keyHash);
    },
    wasDeleted: async (keyHash, readAgoMs) => (await look(keyHash, now() - readAgoMs)) === 'deleted',
    count: () => lost.size,
    async check() {
      if (last !== undefined) await look(last.keyHash, last.readAtMs);
      for (let stillLost = false; lost.size > 0 && !stillLost;) {
        const page = lost.entries().take(pageSize).toArray();
        const found = await Promise.all(page.map(([keyHash, readAtMs]) => look(keyHash, readAtMs)));
        stillLost = found.includes('lost');
      }
    },
  };
}

/** UTC months as YYYYMM: that of the time, and the one before. */
function lastTwoMonths(nowMs: number): string[] {
  const time = new Date(nowMs);
  return [0, -1].map((months) =>
    new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + months))
      .toISOString()
      .slice(0, 7)
      .replace('-', ''),
  );
}
