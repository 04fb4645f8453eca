import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { PrismaPGlite } from 'pglite-prisma-adapter';

/** SQLITE_BUSY (sqlite.org/rescode.html): another process holds the lock. */
const busy = 5;

/**
 * Opens PGlite, PostgreSQL compiled to WebAssembly, with its files in the data directory. Its packages are development
 * dependencies, so this file is imported on demand only.
 * @throws Error that names DATA_DIR
 */
export async function openEmbedded(dataDirectory: string) {
  const directory = join(dataDirectory, 'postgres');
  let lock: DatabaseSync | undefined;
  try {
    if (!existsSync(dataDirectory)) mkdirSync(dataDirectory, { mode: 0o700 });
    // Two processes on the same files would destroy them. SQLite takes a lock of the operating system, which ends with the
    // process however it ends.
    lock = new DatabaseSync(join(dataDirectory, 'postgres.lock'), { timeout: 500 });
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    const client = await openFiles(directory);
    return {
      adapter: awaitScripts(new PrismaPGlite(client), client),
      description: `embedded PostgreSQL, data kept in ${directory}, synced to disk at each commit`,
      async close(): Promise<void> {
        await client.close();
        lock?.close();
      },
    };
  } catch (error) {
    lock?.close();
    const message = error instanceof Error ? error.message : String(error);
    const isBusy = error instanceof Error && 'errcode' in error && error.errcode === busy;
    const issue = isBusy
      ? 'is in use by another process; stop that one or set DATA_DIR to another directory'
      : `can't be used (${message})`;
    throw new Error(message.startsWith('DATA_DIR') ? message : `DATA_DIR: ${dataDirectory} ${issue}`, {
      cause: error,
    });
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
async function openFiles(directory: string): Promise<PGlite> {
  const exists = existsSync(directory);
  // PGlite does not follow links.
  const path = exists ? realpathSync(directory) : `${directory}.new`;
  // A killed start may have left it.
  if (!exists) rmSync(path, { recursive: true, force: true });
  // PGlite creates its files readable for everybody, so the directory has to keep others out.
  if (!exists) mkdirSync(path);
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
    // A new database is written without fsync.
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    for (const { name, parentPath } of entries) syncPath(join(parentPath, name));
    syncPath(path);
    renameSync(path, directory);
    syncPath(dirname(directory));
    return await openDurable(directory);
  } catch (error) {
    // What was just created, and nothing that existed before.
    const created = exists ? readdirSync(path).map((name) => join(path, name)) : [path];
    for (const entry of isNew ? created : []) rmSync(entry, { recursive: true, force: true });
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(
      `DATA_DIR: the embedded database in ${directory} can't be opened (${message}): check for a full disk or damaged files`,
      { cause: error },
    );
  }
}

/** Opens PGlite so that what it has committed survives a power cut. By itself it never syncs a file. */
function openDurable(directory: string): Promise<PGlite> {
  // -F turns fsync off, and Emscripten's fdatasync, the default, does nothing.
  const startParams = PGlite.defaultStartParams.filter((parameter) => parameter !== '-F');
  return PGlite.create({
    fs: new SyncedNodeFS(directory),
    startParams: [...startParams, '-c', 'wal_sync_method=fsync'],
  });
}

/** Files of Node, with the fsync that Emscripten's lack. */
class SyncedNodeFS extends NodeFS {
  override async init(...[pg, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options);
    const preRun: typeof emscriptenOpts.preRun = [
      ...(emscriptenOpts.preRun ?? []),
      ({ NODEFS }) => {
        NODEFS.stream_ops.fsync = ({ nfd }: { nfd: number }) => {
          NODEFS.tryFSOperation(() => fsyncSync(nfd));
          return 0;
        };
      },
    ];
    return { emscriptenOpts: { ...emscriptenOpts, preRun } };
  }
}

/** Syncs a file, or the names of the files in a directory. */
function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
