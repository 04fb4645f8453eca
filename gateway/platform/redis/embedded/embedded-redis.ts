import { randomBytes } from 'node:crypto';
import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { dataDirectoryError, lockDataDirectory } from '#runtime/data-directory.ts';
import type { Logger } from 'pino';
import { startInProcessRedis, type EmbeddedRedis } from './in-process-redis.ts';
import { startNativeRedis } from './native-redis.ts';

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

/** Writes the address so that a reader finds it whole or not at all, and only this user can read it. */
function writeUrl(dataDirectory: string, url: string): void {
  const draft = `${urlFile(dataDirectory)}.new`;
  // The mode is set only for a new file.
  rmSync(draft, { force: true });
  try {
    writeFileSync(draft, url, { mode: 0o600, flag: 'wx' });
    renameSync(draft, urlFile(dataDirectory));
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
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
        ? await startInProcessRedis({ password, announce })
        : await startNativeRedis({ program, dataDirectory, previousUrl, password, announce, log });
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
