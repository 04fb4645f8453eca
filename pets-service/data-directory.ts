import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/*
 * The data directory, which a gateway on the same machine may use at the same time. Both make the key pair in the same way.
 */

/**
 * Makes a directory that only this user can read, and its missing parents. Not with Node's `recursive`, which never
 * returns below /proc, where mkdir says ENOENT although the parent exists.
 * @throws Error of the system
 */
export function makeDirectory(path: string): void {
  if (isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // The gateway may have made it at the same moment.
    if (!isDirectory(path)) throw error;
  }
}

const isDirectory = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/**
 * Error of the file system or of SQLite, as a message that names DATA_DIR. Other errors are returned unchanged.
 * @param path the directory, or a file in it
 */
export function dataDirectoryError(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('errcode' in error || 'syscall' in error)) return error;
  return new Error(`DATA_DIR: ${path} can't be used (${error.message})`, { cause: error });
}

/** SQLITE_BUSY (sqlite.org/rescode.html): another process holds the lock. */
const busy = 5;
/** Of processes that ask at the same moment, each sees another one in its way: without a wait, all may give up. */
const lockTimeoutMs = 500;

/**
 * Keeps a second process off the same data. SQLite takes a lock of the operating system, which ends with the process
 * however it ends; a file that holds a process id could be stale.
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

/**
 * Makes the key pair of the internal tokens unless the data directory has one. The pair is written into a directory of its
 * own and appears by a rename, which fails if the gateway was faster, and then its pair is used.
 * @returns the file of the public key
 * @throws Error that names DATA_DIR if the directory can't be written, or its two keys don't belong together
 */
export function ensureTokenKeyPair(dataDirectory: string): string {
  const directory = join(dataDirectory, 'internal-token');
  const [privatePath, publicPath] = [join(directory, 'private.pem'), join(directory, 'public.pem')];
  const hasKey = () => existsSync(privatePath) || existsSync(publicPath);
  if (hasKey()) {
    const expected = readKey(privatePath, (pem) => createPublicKey(createPrivateKey(pem)));
    const found = readKey(publicPath, createPublicKey);
    if (expected === undefined || found === undefined || found.equals(expected)) return publicPath;
    throw new Error(
      `DATA_DIR: ${publicPath} is not the public key of ${privatePath}: make it again (openssl pkey -pubout), or delete both files for a new pair`,
    );
  }
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  let draft: string | undefined;
  try {
    makeDirectory(dataDirectory);
    draft = mkdtempSync(join(dataDirectory, 'internal-token-'));
    writeFileSync(join(draft, 'private.pem'), privateKey, { mode: 0o600 });
    writeFileSync(join(draft, 'public.pem'), publicKey, { mode: 0o600 });
    renameSync(draft, directory);
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { recursive: true });
    if (!hasKey()) throw dataDirectoryError(dataDirectory, error);
  }
  return publicPath;
}

/** @returns undefined if the key is missing or invalid, which the service that needs it reports */
function readKey(path: string, parse: (pem: Buffer) => KeyObject): KeyObject | undefined {
  try {
    return parse(readFileSync(path));
  } catch {
    return undefined;
  }
}
