import type { Logger } from 'pino';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';

/** A key that was served, as far as it matters here. */
type ServedKey = KeyPlace & { id: string };

/**
 * Finds API keys that this process has served and Redis has lost: it came back empty, or from a backup older than the key. A
 * key that somebody has deleted is not lost: it is still among the ids of its customer's keys.
 */
export interface LostKeys {
  /** Notes that the record of a key was read and is valid. */
  found(key: ServedKey): void;
  /**
   * @param readAgoMs time since the record of the key, which Redis lacks now, was last read
   * @returns whether somebody has deleted it, or has said since that its loss is meant; false if it is lost, or back
   */
  wasDeleted(key: ServedKey, readAgoMs: number): Promise<boolean>;
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
  /** Each lost key by its hash, and when it was last read. The ones that were looked for last come last. */
  const lost = new Map<string, { key: ServedKey; readAtMs: number }>();
  let last: { key: ServedKey; readAtMs: number } | undefined;

  function forget({ keyHash }: ServedKey): void {
    if (!lost.delete(keyHash)) return;
    onCount(lost.size);
    if (lost.size === 0) log.warn('no API key is lost any more');
  }

  function remember(key: ServedKey, readAtMs: number): void {
    if (lost.size === 0) {
      log.error(
        'Redis has lost API keys that were served, and came back empty or older: they get 503 until they are imported, or until ops keys accept-loss',
      );
    }
    lost.delete(key.keyHash);
    if (lost.size < maxLost) lost.set(key.keyHash, { key, readAtMs });
    onCount(lost.size);
  }

  async function look(key: ServedKey, readAtMs: number): Promise<'found' | 'lost' | 'deleted'> {
    const isFound = async () => (await redis.exists(redisKeys.apiKey(key))) === 1;
    const isThere = await isFound();
    if (!isThere && (await lacks(key, readAtMs))) {
      remember(key, readAtMs);
      return 'lost';
    }
    forget(key);
    // It may have come back in between, and have been used.
    return isThere || (await isFound()) ? 'found' : 'deleted';
  }

  /** Whether Redis also lacks that the customer has the key, and an operator's later word. */
  async function lacks({ customerId, id }: ServedKey, readAtMs: number): Promise<boolean> {
    const [acceptedAtMs, isKnown] = await Promise.all([
      redis.get(redisKeys.lossAccepted),
      redis.sismember(redisKeys.customerKeys(customerId), id),
    ]);
    return isKnown === 0 && readAtMs > (Number(acceptedAtMs) || 0);
  }

  return {
    found({ id, customerId, keyHash }) {
      const key = { id, customerId, keyHash };
      last = { key, readAtMs: now() };
      forget(key);
    },
    wasDeleted: async (key, readAgoMs) => (await look(key, now() - readAgoMs)) === 'deleted',
    count: () => lost.size,
    async check() {
      if (last !== undefined) await look(last.key, last.readAtMs);
      for (let stillLost = false; lost.size > 0 && !stillLost;) {
        const page = lost.values().take(pageSize).toArray();
        const found = await Promise.all(page.map(({ key, readAtMs }) => look(key, readAtMs)));
        stillLost = found.includes('lost');
      }
    },
  };
}
