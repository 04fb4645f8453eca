import { mkdirSync, statSync } from 'node:fs';

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
