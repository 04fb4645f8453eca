import { spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { lockDataDirectory } from './data-directory-lock.ts';

export interface EmbeddedRedis {
  url: string;
  /** One line for people: what runs and what that means for their data. */
  description: string;
  close(): Promise<void>;
}

/** Where a running gateway writes the address of its private Redis, for the ops command. */
export function embeddedRedisUrlFile(dataDirectory: string): string {
  return join(dataDirectory, 'redis.url');
}

/** @returns the address of the private Redis of the gateway that runs on this data directory, if any. */
export function readEmbeddedRedisUrl(dataDirectory: string): string | undefined {
  try {
    return readFileSync(embeddedRedisUrlFile(dataDirectory), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/**
 * A private Redis for a gateway without REDIS_URL: the native server where there is one on PATH, which keeps its
 * data, else one in JavaScript in this process, which does not. Both listen on loopback alone.
 * @throws Error where the data directory is in use
 */
export async function startEmbeddedRedis(dataDirectory: string, log: Logger): Promise<EmbeddedRedis> {
  const unlock = lockDataDirectory(dataDirectory, 'redis');
  try {
    const program = findProgram(['redis-server', 'valkey-server']);
    const redis =
      program === undefined ? await startInProcess() : await startNative(program, dataDirectory, log);
    const urlFile = embeddedRedisUrlFile(dataDirectory);
    writeFileSync(urlFile, redis.url, { mode: 0o600 });
    return {
      ...redis,
      async close() {
        rmSync(urlFile, { force: true });
        await redis.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function findProgram(names: string[]): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return names
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

const startTimeoutMs = 10_000;
const restartDelayMs = 500;

async function startNative(program: string, dataDirectory: string, log: Logger): Promise<EmbeddedRedis> {
  mkdirSync(join(dataDirectory, 'redis'), { recursive: true, mode: 0o700 });
  // As Redis itself will name it, by which an orphan is recognised.
  const directory = realpathSync(join(dataDirectory, 'redis'));
  await stopOrphan(dataDirectory, directory);
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
    child.on('error', (error) => log.error({ err: error }, `can't run ${program}`));
    child.on('exit', (code, signal) => {
      if (closing) return;
      log.error({ code, signal }, 'the private Redis stopped by itself, starting it again');
      setTimeout(() => {
        if (!closing) server = launch();
      }, restartDelayMs);
    });
    return child;
  }

  async function close(signal: NodeJS.Signals): Promise<void> {
    closing = true;
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    await exited;
  }

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

/** A gateway that was killed leaves its Redis running. The lock is ours, so nobody else can be using it. */
async function stopOrphan(dataDirectory: string, directory: string): Promise<void> {
  const url = readEmbeddedRedisUrl(dataDirectory);
  if (url === undefined) return;
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    await redis.connect();
    // Another program may have been given the port since: only a Redis on our own directory is ours to stop.
    const [, dir] = await redis.config('GET', 'dir');
    if (dir === directory) await redis.call('SHUTDOWN').catch(() => {});
  } catch {
    // Nothing runs there any more.
  } finally {
    redis.disconnect();
  }
}

async function untilAnswering(url: string, directory: string): Promise<void> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    try {
      if (redis.status !== 'ready') await redis.connect();
      await redis.ping();
      redis.disconnect();
      return;
    } catch (error) {
      if (Date.now() > deadline) {
        redis.disconnect();
        throw new Error(`the private Redis did not start, see ${join(directory, 'redis.log')}`, {
          cause: error,
        });
      }
      await sleep(50);
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => {
    probe.listen(0, '127.0.0.1', resolve);
  });
  const address = probe.address();
  await new Promise((resolve) => {
    probe.close(resolve);
  });
  if (address === null || typeof address === 'string') throw new Error('no free port found');
  return address.port;
}

async function startInProcess(): Promise<EmbeddedRedis> {
  const { createRedisCommandExecutor, RedisServerState, Resp2Server, resolveCompatibilityProfile } =
    await import('js-redis-server/core');
  const compatibility = resolveCompatibilityProfile(undefined);
  const state = new RedisServerState({ databaseCount: 1, compatibility });
  const server = new Resp2Server({ server: state, executor: createRedisCommandExecutor({ compatibility }) });
  // Its own listen() would open the port on all interfaces.
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `redis://127.0.0.1:${server.getPort()}`,
    description:
      'Redis in JavaScript within the gateway, kept in memory only: keys and counters end with it. ' +
      'With redis-server on PATH they are kept',
    close: () => server.close(),
  };
}
