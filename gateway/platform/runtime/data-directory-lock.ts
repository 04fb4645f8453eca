import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { dataDirectoryError, makeDirectory } from './data-directory.ts';

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
