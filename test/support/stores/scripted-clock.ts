import { defineScripts } from '../../../gateway/redis/define-scripts.ts';
import { withPrelude, type RedisClient } from '../../../gateway/redis/redis-client.ts';

const clockKey = 'test:clock';

/**
 * Makes the gateway's scripts on this connection read the time from a Redis key instead of the server's clock, which
 * cannot be set. Redis still deletes expired keys by the real time.
 * @returns sets the clock, in Unix milliseconds
 */
export function scriptClock(redis: RedisClient): (nowMs: number) => Promise<void> {
  const lua = (...names: string[]) => {
    const script = withPrelude(...names);
    const changed = script.replace("redis.call('TIME')", `redis.call('LRANGE', '${clockKey}', 0, 1)`);
    if (changed === script) throw new Error('the scripts do not read TIME any more');
    return changed;
  };
  defineScripts(redis, {
    consumeQuota: { lua: lua('trial.lua', 'consume.lua') },
    readUsage: { numberOfKeys: 5, lua: lua('read-usage-5.lua') },
    addUsage: { numberOfKeys: 2, lua: lua('refusals.lua', 'add-usage-2.lua') },
    readUsageMonth: { numberOfKeys: 1, lua: lua('read-usage-month-1.lua') },
    setBan: { numberOfKeys: 2, lua: lua('set-ban-2.lua') },
    liftBan: { numberOfKeys: 2, lua: lua('lift-ban-2.lua') },
  });
  return async (nowMs) => {
    const micros = (nowMs % 1000) * 1000;
    await redis
      .multi()
      .del(clockKey)
      .rpush(clockKey, Math.floor(nowMs / 1000), micros)
      .exec();
  };
}
