import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
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

const readGiven = (path: string) =>
  readKeyFile({ setting: 'INTERNAL_TOKEN_PRIVATE_KEY_FILE', path, kind: 'private' });
const readOwn = (directory: string) =>
  readKeyFile({ setting: 'DATA_DIR', path: join(directory, 'private.pem'), kind: 'private' });
