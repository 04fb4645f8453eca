import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Makes a directory that only this user can read, unless it exists. @throws Error of the system */
export function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/**
 * Error of the file system or of SQLite, as a message that names DATA_DIR. Other errors are returned unchanged.
 * @param path the directory, or a file in it
 */
export function dataDirectoryError(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !isFileError(error)) return error;
  return new Error(`DATA_DIR: ${path} can't be used (${error.message})`, { cause: error });
}

/** Sockets and processes have failing system calls, too. */
function isFileError(error: Error): boolean {
  return 'errcode' in error || ('syscall' in error && !('port' in error) && !('spawnargs' in error));
}

/** SQLITE_BUSY (sqlite.org/rescode.html): another process holds the lock. */
const busy = 5;
/** Of processes that ask at the same moment, each sees another one in its way: without a wait, all may give up. */
const lockTimeoutMs = 500;

/**
 * Keeps a second process off the same data. SQLite takes a lock of the operating system, which ends with the process
 * however it ends; a file that holds a process id could be stale.
 * @param name what is locked within the directory
 * @returns a function that releases the lock
 * @throws Error that names DATA_DIR if another process holds the lock, or the file can't be written
 */
export function lockDataDirectory(directory: string, name: string): () => void {
  const file = join(directory, `${name}.lock`);
  let lock: DatabaseSync | undefined;
  try {
    makeDirectory(directory);
    lock = new DatabaseSync(file, { timeout: lockTimeoutMs });
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (!(error instanceof Error && 'errcode' in error && error.errcode === busy)) {
      throw dataDirectoryError(file, error);
    }
    throw new Error(
      `DATA_DIR: ${directory} is in use by another process; stop that one or set DATA_DIR to another directory`,
      { cause: error },
    );
  }
  return () => lock.close();
}
