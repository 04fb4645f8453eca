import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory for this user alone, and those above it that are missing. Not with `recursive` of Node, which tries
 * for ever where the system finds what is missing in a directory that is there, as it does below /proc.
 * @throws Error of the system where it can't be made
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Made by the pets service at the same moment.
    if (!isDirectory(path)) throw error;
  }
}

const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * What the file system or SQLite refuses, for whoever has set the data directory; other errors as they are.
 * @param path the directory or what it holds
 */
export function dataDirectoryFault(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !isOfFiles(error)) return error;
  return new Error(`DATA_DIR: ${path} can't be used (${error.message})`, { cause: error });
}

/** Sockets and processes have system calls that fail, too. */
function isOfFiles(error: Error): boolean {
  return 'errcode' in error || ('syscall' in error && !('port' in error) && !('spawnargs' in error));
}
