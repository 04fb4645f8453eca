import { spawn, type ChildProcess } from 'node:child_process';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../http/free-port.ts';
import { temporaryDirectory } from '../kits/temporary-directory.ts';
import { end } from '../programs.ts';

/** A redis-server on the loopback interface. */
export interface RedisProcess extends AsyncDisposable {
  port: number;
  /** A connection for setup and inspection. */
  redis: Redis;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL, like a crash. */
  kill(): Promise<void>;
  /** Starts it again with the same port and data. */
  restart(): Promise<void>;
}

/** @param args arguments of redis-server, besides its port and directory */
export async function startRedisProcess(args: (directory: string) => string[]): Promise<RedisProcess> {
  const directory = await temporaryDirectory();
  const port = await freePort();
  let child: ChildProcess;

  function begin(): void {
    const commonArgs = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory.path];
    child = spawn('redis-server', [...args(directory.path), ...commonArgs], { stdio: 'ignore' });
    preferOverTests(child);
  }

  async function launch(): Promise<void> {
    begin();
    for (let attempt = 0; ; attempt += 1) {
      try {
        await redis.ping();
        return;
      } catch (error) {
        if (attempt === 1200) throw error;
        // While it was away, a connection of somebody else may have had its port.
        if (child.exitCode !== null) begin();
        await sleep(25);
      }
    }
  }

  const redis = new Redis(port, '127.0.0.1', {
    maxRetriesPerRequest: 0,
    retryStrategy: () => 25,
    enableOfflineQueue: false,
  });
  redis.on('error', () => {});
  await launch();
  return {
    port,
    redis,
    signal: (signal) => child.kill(signal),
    kill: () => end(child, 'SIGKILL'),
    restart: launch,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await end(child, 'SIGKILL');
      await directory[Symbol.asyncDispose]();
    },
  };
}

/** A Redis that waits 100 ms for a core is down to a gateway, and other tests may use all cores. */
function preferOverTests({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, -10);
  } catch {
    // Only root may do so.
  }
}
