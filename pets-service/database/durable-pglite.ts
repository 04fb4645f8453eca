import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { NodeFS } from '@electric-sql/pglite/nodefs';

/** Opens PGlite so that what it has committed survives a power cut. By itself it never syncs a file. */
export function openDurable(directory: string): Promise<PGlite> {
  return PGlite.create({
    fs: new SyncedNodeFS(directory),
    startParams: [
      // Turns fsync off.
      ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
      '-c',
      // Emscripten's fdatasync, the default, does nothing.
      'wal_sync_method=fsync',
    ],
  });
}

interface OpenFile {
  /** File descriptor of Node. */
  nfd: number;
}

/** Files of Node, with the fsync that Emscripten's lack. */
class SyncedNodeFS extends NodeFS {
  override async init(...[pg, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(pg, options);
    const preRun: typeof emscriptenOpts.preRun = [
      ...(emscriptenOpts.preRun ?? []),
      ({ NODEFS }) => {
        NODEFS.stream_ops.fsync = (file: OpenFile) => {
          NODEFS.tryFSOperation(() => fsyncSync(file.nfd));
          return 0;
        };
      },
    ];
    return { emscriptenOpts: { ...emscriptenOpts, preRun } };
  }
}

/** Syncs everything in a directory. A new database is written without fsync. */
export function syncTree(directory: string): void {
  for (const { name, parentPath } of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    syncPath(join(parentPath, name));
  }
  syncPath(directory);
}

/** Syncs a file, or the names of the files in a directory. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
