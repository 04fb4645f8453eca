import { expect } from 'vitest';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { send, type ClientResponse } from '../http/http.ts';
import { startGatewayKit, type GatewayKit } from './gateway-kit.ts';
import { runProgram, type Ended } from './service.ts';

/** A gateway with its Redis, and the ops command for it. */
export interface OpsKit extends GatewayKit {
  /** Runs the ops command to its end. */
  run(...args: string[]): Promise<Ended>;
  /** The same with --json: what it printed, once it has ended well and with one line. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>;
  pets(key: unknown): Promise<ClientResponse>;
}

export async function startOpsKit(env: Record<string, string> = {}): Promise<OpsKit> {
  const kit = await startGatewayKit(env);
  const run = (...args: string[]) =>
    runProgram(['gateway/ops/main.ts', ...args], { REDIS_URL: kit.server.url });
  return {
    ...kit,
    run,
    async json<T>(...args: string[]) {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.endsWith('\n') && !stdout.trimEnd().includes('\n')).toBe(true);
      return JSON.parse(stdout) as T;
    },
    pets: (key) => send(`${kit.gateway.url}/v1/pets`, { key: String(key) }),
  };
}

/** What the clock writes, or takes away within a minute or two. */
const passing = /^gw:(instances$|\{busy\}|anonymous:|minute:|violations:)/;

/** All of Redis but that. */
export async function snapshot(redis: RedisClient): Promise<[key: string, content: unknown][]> {
  return (await contents(redis)).filter(([key]) => !passing.test(key));
}

/** All of Redis, in the order of its keys. */
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
    case 'set':
      return (await redis.smembers(key)).toSorted();
    case 'zset':
      return redis.zrange(key, '0', '-1', 'WITHSCORES');
    case 'stream':
      return redis.xrange(key, '-', '+');
    // It has expired meanwhile.
    case 'none':
      return null;
    default:
      throw new Error(`${key} is a ${type}`);
  }
}

/** Does something for each item, a few at a time: most of what a command takes is starting a process. */
export async function inTurns<T>(items: readonly T[], use: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await use(item);
  };
  await Promise.all([worker(), worker(), worker()]);
}
