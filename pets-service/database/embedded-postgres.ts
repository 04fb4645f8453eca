import { chmodSync, existsSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inspect } from 'node:util';
import type { PGlite } from '@electric-sql/pglite';
import { dataDirectoryFault, makeDirectory } from '../runtime/data-directory.ts';
import type { Database } from './database.ts';

/** PGlite: PostgreSQL compiled to WebAssembly, its files in the data directory. */
export async function openEmbedded(dataDirectory: string): Promise<Database> {
  const unlock = lock(dataDirectory);
  const directory = join(dataDirectory, 'postgres');
  try {
    const client = await openFiles(directory);
    const { PrismaPGlite } = await import('pglite-prisma-adapter');
    return {
      adapter: new PrismaPGlite(client),
      description: `embedded PostgreSQL, data kept in ${directory}`,
      async close() {
        await client.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw dataDirectoryFault(directory, error);
  }
}

/**
 * A new database is made beside its place and gets there once it is whole: one that was made half-way, since the disk
 * was full or the process was killed, would never open again. A directory that somebody has put there, such as a link
 * or another disk, is filled where it is.
 */
async function openFiles(directory: string): Promise<PGlite> {
  const { PGlite } = await import('@electric-sql/pglite');
  const isThere = existsSync(directory);
  // PGlite does not follow a link.
  const place = isThere ? realpathSync(directory) : `${directory}.new`;
  // Left by a start that was killed.
  if (!isThere) rmSync(place, { recursive: true, force: true });
  // Its files come into being readable for everybody: the directory keeps others out.
  makeDirectory(place);
  chmodSync(place, 0o700);
  const isNew = readdirSync(place).length === 0;
  try {
    const client = await PGlite.create(place);
    if (isThere) return client;
    await client.close();
    renameSync(place, directory);
    return await PGlite.create(directory);
  } catch (error) {
    if (isNew) discard(place, isThere);
    throw new Error(
      `DATA_DIR: the embedded database in ${directory} can't be opened (${reasonOf(error)}): is the disk full, or are its files damaged?`,
      { cause: error },
    );
  }
}

/** Of what was made just now, and never what was there before. */
function discard(place: string, keepDirectory: boolean): void {
  const made = keepDirectory ? readdirSync(place).map((name) => join(place, name)) : [place];
  for (const path of made) {
    try {
      rmSync(path, { recursive: true, force: true });
    } catch {
      // Why the database could not be made is what has to be told.
    }
  }
}

/** ENOSPC as WASI numbers it. */
const noSpace = 51;

/** PGlite throws what is no Error where its file system meets a fault, or PostgreSQL ends. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('message' in error) return String(error.message);
  if (!('errno' in error)) return inspect(error);
  return error.errno === noSpace ? 'no space left on device' : `error number ${String(error.errno)}`;
}

/** SQLITE_BUSY (sqlite.org/rescode.html): another process has the lock. */
const busy = 5;

/**
 * Two processes on the same files would destroy them. SQLite takes a lock of the operating system, which ends with
 * the process however it ends. The gateway locks its own data in the same way; they share no code.
 * @throws Error that names DATA_DIR where another process holds it, or it can't be written
 */
function lock(dataDirectory: string): () => void {
  const path = join(dataDirectory, 'postgres.lock');
  let file: DatabaseSync | undefined;
  try {
    makeDirectory(dataDirectory);
    file = new DatabaseSync(path, { timeout: 0 });
    file.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    file?.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === busy))
      throw dataDirectoryFault(path, error);
    throw new Error(
      `DATA_DIR: ${dataDirectory} is in use by another process; stop that one or set DATA_DIR to another directory`,
      { cause: error },
    );
  }
  return () => file.close();
}
