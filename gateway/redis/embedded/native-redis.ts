import { spawn, type ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { makeDirectory } from '../../runtime/data-directory.ts';
import type { EmbeddedRedis } from './in-process-redis.ts';

const startTimeoutMs = 10_000;
const restartDelayMs = 500;
/** Writing the last of the append-only file takes a moment; one that is stuck is not waited for. */
const stopTimeoutMs = 5000;

interface NativeRedisOptions {
  /** Path of redis-server or valkey-server. */
  program: string;
  dataDirectory: string;
  /** Address of the one that ran here before, which may still run where the gateway was killed. */
  previousUrl: string | undefined;
  /** Told of the address before anything runs there, so that even then the next start finds it. */
  announce: (url: string) => void;
  log: Logger;
}

/** A redis-server of our own: loopback, a free port, an append-only file. Started again where it stops by itself. */
export async function startNativeRedis(options: NativeRedisOptions): Promise<EmbeddedRedis> {
  const { program, dataDirectory, previousUrl, announce, log } = options;
  makeDirectory(join(dataDirectory, 'redis'));
  // As Redis itself will name it, by which an orphan is recognised.
  const directory = realpathSync(join(dataDirectory, 'redis'));
  if (previousUrl !== undefined) await stopOrphan(previousUrl, directory);
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let closing = false;
  let server: ChildProcess;

  function launch(): ChildProcess {
    const options = {
      port: String(port),
      bind: '127.0.0.1',
      dir: directory,
      appendonly: 'yes',
      save: '',
      logfile: join(directory, 'redis.log'),
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    // A process group of its own: Ctrl-C reaches the gateway, which stops Redis last, after what is in flight.
    const child = spawn(program, args, { detached: true, stdio: 'ignore' });
    child.on('error', (error) => {
      log.error({ err: error }, `can't run ${program}`);
      relaunch();
    });
    child.on('exit', (code, signal) => {
      if (closing) return;
      log.error({ code, signal }, 'the private Redis stopped by itself, starting it again');
      relaunch();
    });
    return child;
  }

  function relaunch(): void {
    setTimeout(() => {
      if (!closing) server = launch();
    }, restartDelayMs);
  }

  async function close(signal: NodeJS.Signals): Promise<void> {
    closing = true;
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    const hardStop = setTimeout(() => server.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(hardStop);
  }

  announce(url);
  server = launch();
  try {
    await untilAnswering(url, directory);
  } catch (error) {
    await close('SIGKILL');
    throw error;
  }
  return {
    url,
    description: `private ${program} on 127.0.0.1:${port}, data kept in ${directory}`,
    close: () => close('SIGTERM'),
  };
}

/**
 * A gateway that was killed leaves its Redis running. The lock is ours, so nobody else can be using it, and a second
 * one on the same files would destroy them.
 */
async function stopOrphan(url: string, directory: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  while (await runsOn(url, directory)) {
    if (Date.now() > deadline)
      throw new Error(
        `DATA_DIR: an earlier private Redis on ${directory} at ${url} does not stop; stop it by hand`,
      );
    await sleep(100);
  }
}

/** Asks a Redis on our directory to end. Another program may have been given the port since: that is left alone. */
async function runsOn(url: string, directory: string): Promise<boolean> {
  const redis = probe(url);
  try {
    await redis.connect();
    const [, dir] = await redis.config('GET', 'dir');
    if (dir !== directory) return false;
    await redis.call('SHUTDOWN').catch(() => {});
    return true;
  } catch (error) {
    // Busy with something, such as loading: it is there.
    return isReplyError(error);
  } finally {
    redis.disconnect();
  }
}

function isReplyError(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** A server that says it is loading its data gets all the time it needs. */
async function untilAnswering(url: string, directory: string): Promise<void> {
  const redis = probe(url);
  const deadline = Date.now() + startTimeoutMs;
  try {
    for (;;) {
      try {
        if (redis.status !== 'ready') await redis.connect();
        // Somebody else may have been given the port in the moment before ours took it.
        const [, dir] = await redis.config('GET', 'dir');
        if (dir !== directory) throw new Error('another Redis answers on the port');
        return;
      } catch (error) {
        const loading = error instanceof Error && error.message.startsWith('LOADING');
        if (!loading && Date.now() > deadline) {
          throw new Error(`DATA_DIR: the private Redis does not start on ${directory}, see redis.log there`, {
            cause: error,
          });
        }
      }
      await sleep(50);
    }
  } finally {
    redis.disconnect();
  }
}

/** A connection that is tried once and says what it meets. */
function probe(url: string): Redis {
  const redis = new Redis(url, {
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    commandTimeout: 1000,
  });
  redis.on('error', () => {});
  return redis;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  if (address === null || typeof address === 'string') throw new Error('no free port found');
  return address.port;
}
