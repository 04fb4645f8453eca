import { randomBytes } from 'node:crypto';
import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { delimiter, join } from 'node:path';
import { dataDirectoryError, lockDataDirectory } from '#runtime/data-directory.ts';
import type { Logger } from 'pino';
import { startNativeRedis, type EmbeddedRedis } from './native-redis.ts';

/** File in which a running gateway writes the address of its private Redis, with the password, for the ops command. */
function urlFile(dataDirectory: string): string {
  return join(dataDirectory, 'redis.url');
}

/** @returns the address of the private Redis of the gateway that runs on this data directory, if any */
export function readEmbeddedRedisUrl(dataDirectory: string): string | undefined {
  try {
    // A power cut may leave it empty.
    return readFileSync(urlFile(dataDirectory), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function writeUrl(dataDirectory: string, url: string): void {
  // The mode is set only for a new file.
  rmSync(urlFile(dataDirectory), { force: true });
  writeFileSync(urlFile(dataDirectory), url, { mode: 0o600 });
}

/**
 * Starts a private Redis for a gateway without REDIS_URL: the native server if there is one on PATH, which keeps its data,
 * or else one in JavaScript in this process, which does not. Both listen on loopback only, with a password made at each
 * start: other users of the machine and web pages reach loopback, too.
 * @throws Error that names DATA_DIR if it is in use, or its files can't be written or read
 */
export async function startEmbeddedRedis(dataDirectory: string, log: Logger): Promise<EmbeddedRedis> {
  const unlock = lockDataDirectory(dataDirectory, 'redis');
  let announced = false;
  try {
    const program = findProgram(['redis-server', 'valkey-server']);
    const previousUrl = readEmbeddedRedisUrl(dataDirectory);
    const password = randomBytes(32).toString('hex');
    const announce = (url: string) => {
      writeUrl(dataDirectory, url);
      announced = true;
    };
    const redis =
      program === undefined
        ? await startInProcessRedis(password)
        : await startNativeRedis({ program, dataDirectory, previousUrl, password, announce, log });
    if (program === undefined) announce(redis.url);
    return {
      ...redis,
      async close() {
        rmSync(urlFile(dataDirectory), { force: true });
        await redis.close();
        unlock();
      },
    };
  } catch (error) {
    if (announced) rmSync(urlFile(dataDirectory), { force: true });
    unlock();
    throw dataDirectoryError(dataDirectory, error);
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

/** Every command of a Redis client is an array. Requests of a browser begin with the name of their method. */
const arrayPrefix = '*'.charCodeAt(0);
const refusal =
  '-ERR Possible SECURITY ATTACK detected: this is a Redis port, and the request is not of a Redis client\r\n';

/** Starts Redis in JavaScript, on a real socket on loopback. The library is a development dependency. */
export async function startInProcessRedis(password: string): Promise<EmbeddedRedis> {
  const {
    attachSession,
    createRedisCommandExecutor,
    RedisServerState,
    resolveCompatibilityProfile,
    SocketConnectionTransport,
  } = await import('js-redis-server/core').catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error;
    const message =
      'REDIS_URL is not set, and the embedded Redis is not installed: set REDIS_URL, or install redis-server';
    throw new Error(message, { cause: error });
  });
  const compatibility = resolveCompatibilityProfile(undefined);
  const state = new RedisServerState({ databaseCount: 1, compatibility, requirepass: password });
  const executor = createRedisCommandExecutor({ compatibility });
  const sockets = new Set<Socket>();
  // The library's own server listens on all interfaces, and executes the lines of an HTTP request.
  const server = createServer({ keepAlive: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.once('data', (firstBytes) => {
      if (firstBytes[0] !== arrayPrefix) {
        socket.write(refusal);
        socket.destroySoon();
        return;
      }
      socket.pause();
      socket.unshift(firstBytes);
      attachSession(new SocketConnectionTransport(socket), { state, executor });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the embedded Redis has no port');
  return {
    url: `redis://default:${password}@127.0.0.1:${address.port}`,
    description:
      'embedded, in JavaScript and in memory only: keys and counters are lost when it stops. ' +
      'With redis-server on PATH they are kept',
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      state.close();
    },
  };
}
