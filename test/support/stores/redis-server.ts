import { spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { startInProcessRedis } from '../../../gateway/redis/embedded/in-process-redis.ts';
import { startRedisProcess, type RedisProcess } from './redis-process.ts';

export interface RedisServer extends RedisProcess {
  url: string;
}

export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

/** Redis for tests that any Redis will do for: redis-server, or the embedded one in JavaScript where that is missing. */
export async function startAnyRedis(): Promise<RedisServer> {
  if (hasRedisServer) return startRedisServer();
  const embedded = await startInProcessRedis(() => {});
  const redis = new Redis(embedded.url);
  const missing = () => {
    throw new Error('this needs redis-server');
  };
  return {
    url: embedded.url,
    port: Number(new URL(embedded.url).port),
    redis,
    signal: missing,
    kill: missing,
    restart: missing,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await embedded.close();
    },
  };
}

/**
 * A redis-server of the test's own, with an append-only file that survives SIGKILL: each command is handed to the
 * system before it is answered. Nothing is forced to the disk, since a disk that is slow for a moment would look like an
 * outage, and with everysec would hold back what is written, so that SIGKILL loses it.
 */
export async function startRedisServer(): Promise<RedisServer> {
  const server = await startRedisProcess(() => ['--save', '', '--appendonly', 'yes', '--appendfsync', 'no']);
  return { url: `redis://127.0.0.1:${server.port}`, ...server };
}
