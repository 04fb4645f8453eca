import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeDirectory } from '#runtime/data-directory.ts';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { choosePort } from '../../config/endpoints.ts';
import { isReplyError } from '../redis-errors.ts';

export interface EmbeddedRedis {
  url: string;
  /** One line for people: what runs, and what that means for their data. */
  description: string;
  close(): Promise<void>;
}

const startTimeoutMs = 10_000;
const restartDelayMs = 500;
/** Time for the server to write the end of its append-only file. After that it is killed. */
const stopTimeoutMs = 5000;

interface NativeRedisOptions {
  /** Path of redis-server or valkey-server. */
  program: string;
  dataDirectory: string;
  /** Address of the server that ran here before. It may still run if the gateway was killed. */
  previousUrl: string | undefined;
  password: string;
  /** Called with the address before the server runs, so that the next start finds it whatever happens. */
  announce: (url: string) => void;
  log: Logger;
}

/** Starts redis-server on loopback, on a free port, with an append-only file. Restarts it if it stops by itself. */
export async function startNativeRedis(options: NativeRedisOptions): Promise<EmbeddedRedis> {
  const { program, dataDirectory, previousUrl, password, announce, log } = options;
  makeDirectory(join(dataDirectory, 'redis'));
  // The path as Redis itself reports it, which identifies an orphan.
  const directory = realpathSync(join(dataDirectory, 'redis'));
  if (previousUrl !== undefined) await stopOrphan(previousUrl, directory);
  fixAppendOnlyFile(program, directory, log);
  const port = await choosePort({ settings: 'DATA_DIR', port: 0, host: '127.0.0.1' });
  const url = `redis://default:${password}@127.0.0.1:${port}`;
  let closing = false;
  let server: ChildProcess;

  function launch(): ChildProcess {
    const settings = Object.entries({
      port: String(port),
      bind: '127.0.0.1',
      dir: directory,
      appendonly: 'yes',
      save: '',
      logfile: join(directory, 'redis.log'),
      requirepass: password,
    });
    // Redis reads quoted values with the escapes of JSON.
    const config = settings.map(([name, value]) => `${name} ${JSON.stringify(value)}\n`).join('');
    // A process group of its own: Ctrl-C reaches only the gateway, which stops Redis after requests in flight.
    const child = spawn(program, ['-'], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    // Settings come from standard input, because any user of the machine can read a command line.
    child.stdin.on('error', () => {}).end(config);
    child.on('error', (error) => {
      log.error({ err: error }, `can't run ${program}; retrying`);
      relaunch();
    });
    child.on('exit', (code, signal) => {
      if (closing) return;
      log.error({ code, signal }, 'the private Redis stopped unexpectedly; restarting it');
      relaunch();
    });
    return child;
  }

  function relaunch(): void {
    setTimeout(() => {
      if (!closing) server = launch();
    }, restartDelayMs);
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    closing = true;
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = new Promise((resolve) => server.once('exit', resolve));
    server.kill(signal);
    const killTimer = setTimeout(() => server.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(killTimer);
  }

  announce(url);
  server = launch();
  try {
    await waitUntilReady(url, directory);
  } catch (error) {
    await stop('SIGKILL');
    throw error;
  }
  return {
    url,
    description: `private ${program} on 127.0.0.1:${port}, data kept in ${directory}`,
    close: () => stop('SIGTERM'),
  };
}

/**
 * Stops the Redis of a gateway that was killed. This process holds the lock, so nobody else uses that Redis, and a second
 * one would destroy its files.
 */
async function stopOrphan(url: string, directory: string): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    const redis = probe(url);
    try {
      await redis.connect();
      const [, dir] = await redis.config('GET', 'dir');
      // Another program that has been given the port since is left alone.
      if (dir !== directory) return;
      await redis.call('SHUTDOWN').catch(() => {});
    } catch (error) {
      // It may run but refuse commands, for example while it loads its data. One with another password refuses to connect.
      if (!isReplyError(error)) return;
    } finally {
      redis.disconnect();
    }
    if (performance.now() > deadline)
      throw new Error(
        `DATA_DIR: an earlier private Redis on ${directory}, on port ${URL.parse(url)?.port}, does not stop; stop it by hand`,
      );
    await sleep(100);
  }
}

/** Waits for the server to start. One that is loading its data gets all the time that it needs. */
async function waitUntilReady(url: string, directory: string): Promise<void> {
  const redis = probe(url);
  const deadline = performance.now() + startTimeoutMs;
  try {
    for (;;) {
      try {
        if (redis.status !== 'ready') await redis.connect();
        // Another program may have taken the port first.
        const [, dir] = await redis.config('GET', 'dir');
        if (dir !== directory) throw new Error('another Redis runs on the port');
        return;
      } catch (error) {
        const loading = error instanceof Error && error.message.startsWith('LOADING');
        if (!loading && performance.now() > deadline) {
          throw new Error(
            `DATA_DIR: the private Redis failed to start in ${directory}: see redis.log there`,
            { cause: error },
          );
        }
      }
      await sleep(50);
    }
  } finally {
    redis.disconnect();
  }
}

/** A connection without retries. */
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

/**
 * Makes the append-only file ready to be loaded: a power cut leaves zeros or part of a command at its end, with which Redis does
 * not start. redis-check-aof, which comes with redis-server, cuts them off; a copy of the files is kept beside them.
 * @param program path of redis-server or valkey-server
 * @param directory working directory of that server, which is not running
 * @throws Error that names DATA_DIR if the files are damaged elsewhere
 */
function fixAppendOnlyFile(program: string, directory: string, log: Logger): void {
  const folder = join(directory, 'appendonlydir');
  const manifest = join(folder, 'appendonly.aof.manifest');
  const checkAof = join(dirname(program), basename(program).replace('server', 'check-aof'));
  // Without the program, Redis itself reports what it can't load.
  if (!existsSync(manifest) || !existsSync(checkAof)) return;
  if (spawnSync(checkAof, [manifest]).status === 0) return;
  const copy = `${folder}.damaged-${Date.now()}`;
  cpSync(folder, copy, { recursive: true });
  const { status, stdout } = spawnSync(checkAof, ['--fix', manifest], { input: 'y\n', encoding: 'utf8' });
  if (status !== 0) {
    throw new Error(
      `DATA_DIR: the files in ${folder} are damaged (${stdout.trimEnd().split('\n').at(-1)}): restore DATA_DIR from a backup, or move ${directory} away to start without keys`,
    );
  }
  log.warn(
    { copy },
    `the append-only file was damaged; redis-check-aof cut off its end, and ${copy} has it whole`,
  );
}
