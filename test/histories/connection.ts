import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createRedis, type RedisClient } from '../../gateway/platform/redis/redis-client.ts';

const attemptMs = 1000;
const retryMs = 50;

/**
 * An operator's connection to a Redis that may move to another address while its gateway starts again.
 * @param url the present address, if there is one
 */
export function createConnection(url: () => string | undefined) {
  let present: { url: string; redis: RedisClient } | undefined;

  async function connect(address: string): Promise<void> {
    const redis = createRedis(address, pino({ level: 'silent' }));
    const attempt = new AbortController();
    const { signal } = attempt;
    const timer = sleep(attemptMs, false, { signal }).catch(() => false);
    const ready = once(redis, 'ready', { signal }).then(
      () => true,
      () => false,
    );
    const isReady = await Promise.race([ready, timer]);
    attempt.abort();
    if (isReady) present = { url: address, redis };
    else redis.disconnect();
  }

  return {
    /** Resolves with the present connection. */
    async open(): Promise<RedisClient> {
      for (;;) {
        const address = url();
        if (present !== undefined && present.url === address) return present.redis;
        present?.redis.disconnect();
        present = undefined;
        if (address === undefined) await sleep(retryMs);
        else await connect(address);
      }
    },
    [Symbol.dispose]() {
      present?.redis.disconnect();
    },
  };
}
