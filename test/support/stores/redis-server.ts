import { spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { startInProcessRedis } from '../../../gateway/platform/redis/embedded/embedded-redis.ts';
import { startRedisProcess, type RedisProcess } from './redis-process.ts';

export interface RedisServer extends RedisProcess {
  url: string;
}

export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

/** Starts redis-server, or the embedded Redis if that is not installed. */
export async function startAnyRedis(): Promise<RedisServer> {
  if (hasRedisServer) return startRedisServer();
  const embedded = await startInProcessRedis('hunter2');
  const redis = new Redis(embedded.url);
  const unsupported = () => {
    throw new Error('the embedded Redis cannot do this; tag the test with redis-server');
  };
  return {
    url: embedded.url,
    port: Number(new URL(embedded.url).port),
    redis,
    signal: unsupported,
    kill: unsupported,
    restart: unsupported,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await embedded.close();
    },
  };
}

/**
 * Starts a redis-server whose data survives SIGKILL: each command is written to the append-only file before its reply.
 * There is no fsync, because a slow disk would look like an outage, or delay writes until SIGKILL loses them.
 */
export async function startRedisServer(): Promise<RedisServer> {
  const server = await startRedisProcess(() => ['--save', '', '--appendonly', 'yes', '--appendfsync', 'no']);
  return { url: `redis://127.0.0.1:${server.port}`, ...server };
}
