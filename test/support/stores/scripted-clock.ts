import { scriptFiles, type RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { defineScripts, definitionsOf, loadScript } from '../../../gateway/platform/redis/scripts.ts';

const clockKey = 'test:clock';

/**
 * Makes the gateway's scripts on this connection read the time from a Redis key instead of the server's clock, which
 * cannot be set. Redis still deletes expired keys by the real time.
 * @returns sets the clock, in Unix milliseconds
 */
export function scriptClock(redis: RedisClient): (nowMs: number) => Promise<void> {
  const withClock = (file: string) =>
    loadScript(file).replace("redis.call('TIME')", `redis.call('LRANGE', '${clockKey}', 0, 1)`);
  if (withClock('clock.lua') === loadScript('clock.lua'))
    throw new Error('the scripts do not read TIME any more');
  defineScripts(redis, definitionsOf(scriptFiles, withClock));
  return async (nowMs) => {
    const micros = (nowMs % 1000) * 1000;
    await redis
      .multi()
      .del(clockKey)
      .rpush(clockKey, Math.floor(nowMs / 1000), micros)
      .exec();
  };
}
