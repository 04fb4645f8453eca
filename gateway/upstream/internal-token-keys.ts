import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The key that signs internal tokens: from the given file, else the data directory's own pair, which is made by
 * whichever service needs it first.
 * @throws Error that names the file where it can't be read or holds no EC P-256 private key
 */
export function loadPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return readPrivateKey(file ?? join(ensureKeyPair(dataDirectory), 'private.pem'));
}

/** As loadPrivateKey, for a command that must not make a key pair that no service knows. */
export function findPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  return readPrivateKey(file ?? join(dataDirectory, 'internal-token', 'private.pem'));
}

/** Writes the public half, for a pets service that shares no directory with this process. */
export function writePublicKey(privateKey: KeyObject, path: string): void {
  writeFileSync(path, createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
}

function readPrivateKey(path: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(readFileSync(path));
  } catch (error) {
    throw new Error(`can't read the private key of internal tokens from ${path}`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new Error(`${path} does not hold an EC private key on the curve P-256, which ES256 needs`);
  }
  return key;
}

/**
 * The pair appears all at once: it is written into a directory of its own, and renaming that fails where another
 * process was faster, whose pair then counts. The pets service has the same few lines, since it shares no code
 * with the gateway.
 * @returns the directory of the pair
 */
function ensureKeyPair(dataDirectory: string): string {
  const directory = join(dataDirectory, 'internal-token');
  if (existsSync(join(directory, 'private.pem'))) return directory;
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(join(dataDirectory, 'internal-token-'));
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(join(draft, 'private.pem'), privateKey, { mode: 0o600 });
  writeFileSync(join(draft, 'public.pem'), publicKey, { mode: 0o600 });
  try {
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(join(directory, 'private.pem'))) throw error;
  }
  return directory;
}
