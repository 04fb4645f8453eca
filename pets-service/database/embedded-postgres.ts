import { chmodSync, existsSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import type { PGlite } from '@electric-sql/pglite';
import { lockDataDirectory } from '#runtime/data-directory-lock.ts';
import { dataDirectoryError, makeDirectory } from '#runtime/data-directory.ts';
import { loadOptional } from '#runtime/optional-package.ts';
import type { PrismaPGlite } from 'pglite-prisma-adapter';
import type * as DurablePglite from './durable-pglite.ts';

/** Opens PGlite, PostgreSQL compiled to WebAssembly and a development dependency, with its files in the data directory. */
export async function openEmbedded(dataDirectory: string) {
  const [durable, { PrismaPGlite }] = await loadOptional(
    () => Promise.all([import('./durable-pglite.ts'), import('pglite-prisma-adapter')]),
    'DATABASE_URL is not set, and the embedded PostgreSQL is not installed: set DATABASE_URL',
  );
  // Two processes on the same files would destroy them.
  const unlock = lockDataDirectory(dataDirectory, 'postgres');
  const directory = join(dataDirectory, 'postgres');
  try {
    const client = await openFiles(durable, directory);
    return {
      adapter: awaitScripts(new PrismaPGlite(client), client),
      description: `embedded PostgreSQL, data kept in ${directory}, synced to disk at each commit`,
      async close(): Promise<void> {
        await client.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw dataDirectoryError(directory, error);
  }
}

/** By itself, the adapter does not wait for a script, so a migration that fails would end the process without a message. */
function awaitScripts(adapter: PrismaPGlite, client: PGlite): PrismaPGlite {
  const connect = adapter.connect.bind(adapter);
  adapter.connect = async () => {
    const connection = await connect();
    connection.executeScript = async (script) => {
      await client.exec(script);
    };
    return connection;
  };
  return adapter;
}

/**
 * A new database is created in another directory and renamed when it is complete: one whose creation was interrupted, by
 * a full disk for example, would never open again. An existing directory, such as a link or another disk, is used in
 * place.
 */
async function openFiles(durable: typeof DurablePglite, directory: string): Promise<PGlite> {
  const { openDurable, syncPath, syncTree } = durable;
  const exists = existsSync(directory);
  // PGlite does not follow links.
  const path = exists ? realpathSync(directory) : `${directory}.new`;
  // A killed start may have left it.
  if (!exists) rmSync(path, { recursive: true, force: true });
  // PGlite creates its files readable for everybody, so the directory has to keep others out.
  makeDirectory(path);
  chmodSync(path, 0o700);
  const isNew = readdirSync(path).length === 0;
  // PGlite would create a new database beside the files of the old one.
  if (!isNew && !existsSync(join(path, 'PG_VERSION'))) {
    throw new Error(
      `DATA_DIR: PG_VERSION is missing in ${directory}, so the embedded database there is damaged: restore DATA_DIR from a backup, or move ${directory} away to start without its pets`,
    );
  }
  try {
    const client = await openDurable(path);
    if (exists) return client;
    await client.close();
    syncTree(path);
    renameSync(path, directory);
    syncPath(dirname(directory));
    return await openDurable(directory);
  } catch (error) {
    if (isNew) discard(path, exists);
    throw new Error(
      `DATA_DIR: the embedded database in ${directory} can't be opened (${describeError(error)}): check for a full disk or damaged files`,
      { cause: error },
    );
  }
}

/** Deletes what was just created, and nothing that existed before. */
function discard(path: string, keepDirectory: boolean): void {
  const created = keepDirectory ? readdirSync(path).map((name) => join(path, name)) : [path];
  for (const entry of created) {
    try {
      rmSync(entry, { recursive: true, force: true });
    } catch {
      // The error that the caller gets is that of the creation.
    }
  }
}

/** ENOSPC in WASI's numbering. */
const noSpace = 51;

/** PGlite does not always throw an Error when its file system fails or PostgreSQL ends. */
function describeError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  if ('message' in error) return String(error.message);
  if (!('errno' in error)) return inspect(error);
  return error.errno === noSpace ? 'no space left on device' : `error number ${String(error.errno)}`;
}
