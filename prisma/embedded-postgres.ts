import { existsSync, fsyncSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
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
    throw new Error(`DATA_DIR: ${dataDirectory} ${issue}`, { cause: error });
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

/** A new database is created in another directory and renamed when it is complete: one whose creation was interrupted never opens. */
async function openFiles(directory: string): Promise<PGlite> {
  if (!existsSync(directory)) {
    const draft = `${directory}.new`;
    // A killed start may have left it.
    rmSync(draft, { recursive: true, force: true });
    // PGlite creates its files readable for everybody, so the directory has to keep others out.
    mkdirSync(draft, { mode: 0o700 });
    const client = await openDurable(draft);
    await client.close();
    renameSync(draft, directory);
  }
  // PGlite's own error for a file in its place has no message.
  readdirSync(directory);
  // PGlite does not follow links.
  return openDurable(realpathSync(directory));
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
