import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { dataDirectoryFault, makeDirectory } from '../runtime/data-directory.ts';

/**
 * The key that signs internal tokens: from the given file, else the data directory's own pair, which is made by
 * whichever service needs it first.
 * @throws Error that names the setting and the file where it can't be read or holds no EC P-256 private key
 */
export function loadPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return file === undefined ? readOwn(ensureKeyPair(dataDirectory)) : readGiven(file);
}

/** As loadPrivateKey, for a command that must not make a key pair that no service knows. */
export function findPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return file === undefined ? readOwn(join(dataDirectory, 'internal-token')) : readGiven(file);
}

/**
 * Writes the public half, for a pets service that shares no directory with this process.
 * @throws Error that names the setting and the file where it can't be written, or holds a private key
 */
export function writePublicKey(privateKey: KeyObject, path: string): void {
  try {
    // It may be the very key that tokens are signed with, of which there is no other copy.
    if (holdsPrivateKey(path)) throw new Error('it holds a private key');
    writeFileSync(path, createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
  } catch (error) {
    throw new Error(`INTERNAL_TOKEN_PUBLIC_KEY_OUTPUT: ${path} can't be written (${messageOf(error)})`, {
      cause: error,
    });
  }
}

/** A device such as /dev/stdout is not read: it may never end. */
function holdsPrivateKey(path: string): boolean {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  return isFile && readFileSync(path, 'utf8').includes('PRIVATE KEY-----');
}

const readGiven = (file: string) => readPrivateKey('INTERNAL_TOKEN_PRIVATE_KEY_FILE', file);
const readOwn = (directory: string) => readPrivateKey('DATA_DIR', join(directory, 'private.pem'));

function readPrivateKey(setting: string, path: string): KeyObject {
  let pem: Buffer;
  try {
    pem = readFileSync(path);
  } catch (error) {
    throw new Error(`${setting}: ${path} can't be read (${messageOf(error)})`, { cause: error });
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new Error(`${setting}: ${path} holds no private key in PEM format, or an encrypted one`, {
      cause: error,
    });
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(
      `${setting}: the private key in ${path} is not one of EC on the curve P-256, which ES256 needs`,
    );
  }
  return key;
}

/**
 * The pair appears all at once: it is written into a directory of its own, and renaming that fails where another
 * process was faster, whose pair then counts. The pets service has the same few lines, since it shares no code
 * with the gateway.
 * @returns the directory of the pair
 * @throws Error that names DATA_DIR where it can't be written
 */
function ensureKeyPair(dataDirectory: string): string {
  const directory = join(dataDirectory, 'internal-token');
  if (existsSync(join(directory, 'private.pem'))) return directory;
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
    if (!existsSync(join(directory, 'private.pem'))) throw dataDirectoryFault(dataDirectory, error);
  }
  return directory;
}
