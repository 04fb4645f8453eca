import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Keeps a second process out of the same data. SQLite takes a lock of the operating system, which ends with the
 * process however it ends: nothing stale is left behind, unlike with files that hold a process id.
 *
 * @param name what is locked within the directory
 * @returns releases the lock
 * @throws Error where another process holds it, or the directory can't be written
 */
export function lockDataDirectory(directory: string, name: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(join(directory, `${name}.lock`), { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    throw new Error(
      `the data directory ${directory} is in use by another process; stop that one or set DATA_DIR to another directory`,
      { cause: error },
    );
  }
  return () => lock.close();
}
