import { expect } from 'vitest';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { startGatewayKit } from './gateway-kit.ts';
import { runOps } from './service.ts';

/** A gateway with its Redis, and the ops command for it. */
export async function startOpsKit(env: Record<string, string> = {}) {
  const kit = await startGatewayKit(env);
  /** Runs the ops command to its end. */
  const run = (...args: string[]) => runOps(args, { REDIS_URL: kit.server.url });
  return {
    ...kit,
    run,
    /** Runs it with --json. Expects success and one line of output, and returns the parsed line. */
    async json<T = Record<string, unknown>>(...args: string[]) {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.endsWith('\n') && !stdout.trimEnd().includes('\n')).toBe(true);
      return JSON.parse(stdout) as T;
    },
  };
}

/** Redis keys that timers write or that expire within a minute or two. */
const volatileKeys =
  /^gw:(instances$|status$|settings$|key-use:|failures:|usage:|instance:|\{busy\}|\{events\}|\{traffic\}|anonymous:|minute:|strikes:)/;

/** All content of Redis except the volatile keys. */
export async function snapshot(redis: RedisClient): Promise<[key: string, content: unknown][]> {
  return (await contents(redis)).filter(([key]) => !volatileKeys.test(key));
}

/** All content of Redis, sorted by key. */
export async function contents(redis: RedisClient): Promise<[key: string, content: unknown][]> {
  const keys = (await redis.keys('*')).toSorted();
  return Promise.all(keys.map(async (key): Promise<[string, unknown]> => [key, await contentOf(redis, key)]));
}

async function contentOf(redis: RedisClient, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return (await redis.smembers(key)).toSorted();
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES');
    case 'stream':
      return redis.xrange(key, '-', '+');
    // It expired after KEYS.
    case 'none':
      return null;
    default:
      throw new Error(`${key} is a ${type}`);
  }
}
