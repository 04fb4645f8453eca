import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startInProcessRedis } from '../../gateway/redis/in-process-redis.ts';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export interface RedisServer extends AsyncDisposable {
  url: string;
  port: number;
  /** A connection for looking and for setting things up. */
  redis: Redis;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL, as a crash. */
  kill(): Promise<void>;
  /** Starts again on the same port and the same data. */
  restart(): Promise<void>;
}

export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;

/** For tests that look into Redis, or kill and pause it: skips them with a reason where there is none. */
export function needsRedisServer(what: string): boolean {
  if (!hasRedisServer) console.warn(`${what}: skipped, redis-server is not installed`);
  return !hasRedisServer;
}

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
 * A redis-server of the test's own, with an append-only file that survives SIGKILL. Not written to the disk at each
 * command: a disk that is slow for a moment would look like an outage.
 */
export async function startRedisServer(): Promise<RedisServer> {
  const directory = await temporaryDirectory();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess;

  async function launch(): Promise<void> {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory.path, '--save', ''];
    child = spawn('redis-server', [...args, '--appendonly', 'yes', '--appendfsync', 'everysec'], {
      stdio: 'ignore',
    });
    for (let attempt = 0; ; attempt += 1) {
      try {
        await redis.ping();
        return;
      } catch (error) {
        if (attempt === 200) throw error;
        await sleep(25);
      }
    }
  }

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  const redis = new Redis(url, {
    maxRetriesPerRequest: 0,
    retryStrategy: () => 25,
    enableOfflineQueue: false,
  });
  redis.on('error', () => {});
  await launch();
  return {
    url,
    port,
    redis,
    signal: (signal) => child.kill(signal),
    kill,
    restart: launch,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await kill();
      await directory[Symbol.asyncDispose]();
    },
  };
}
