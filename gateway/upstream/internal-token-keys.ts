import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '#runtime/error-message.ts';
import { readKeyFile } from '#runtime/key-file.ts';
import { ensureTokenKeyPair, tokenKeyDirectory } from '#runtime/token-key-pair.ts';

/**
 * Loads the private key that signs internal tokens: from the given file, or else the data directory's own pair, which is
 * made if it is missing.
 * @throws Error that names the setting and the file if it can't be read or holds no EC P-256 private key
 */
export function loadPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return file === undefined ? readOwn(ensureTokenKeyPair(dataDirectory)) : readGiven(file);
}

/** As loadPrivateKey, for a command, which must not make a key pair that no service knows. */
export function findPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return file === undefined ? readOwn(tokenKeyDirectory(dataDirectory)) : readGiven(file);
}

/**
 * Writes the public key, for a pets service that shares no directory with this process.
 * @throws Error that names the setting and the file if it can't be written, or holds a private key
 */
export function writePublicKey(privateKey: KeyObject, path: string): void {
  try {
    // The file may be the only copy of the very key that signs tokens.
    if (holdsPrivateKey(path)) throw new Error('it holds a private key');
    writeFileSync(path, createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
  } catch (error) {
    throw new Error(`INTERNAL_TOKEN_PUBLIC_KEY_OUTPUT: ${path} can't be written (${errorMessage(error)})`, {
      cause: error,
    });
  }
}

/** A device such as /dev/stdout is not read, since reading it may never end. */
function holdsPrivateKey(path: string): boolean {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile && readFileSync(path, 'utf8').includes('PRIVATE KEY-----');
}

const readGiven = (path: string) =>
  readKeyFile({ setting: 'INTERNAL_TOKEN_PRIVATE_KEY_FILE', path, kind: 'private' });
const readOwn = (directory: string) =>
  readKeyFile({ setting: 'DATA_DIR', path: join(directory, 'private.pem'), kind: 'private' });
