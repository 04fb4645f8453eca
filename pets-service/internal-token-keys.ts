import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectoryFault, makeDirectory } from './runtime/data-directory.ts';

/**
 * The keys that internal tokens are verified with: from the given files, else the data directory's own pair, which
 * is made by whichever service needs it first.
 * @throws Error that names the setting and the file where one can't be read or does not hold one EC P-256 public key
 */
export function loadPublicKeys(files: readonly string[], dataDirectory: string): KeyObject[] {
  if (files.length > 0) return files.map((path) => readPublicKey('INTERNAL_TOKEN_PUBLIC_KEY_FILES', path));
  return [readPublicKey('DATA_DIR', join(ensureKeyPair(dataDirectory), 'public.pem'))];
}

function readPublicKey(setting: string, path: string): KeyObject {
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${setting}: ${path} can't be read (${reason})`, { cause: error });
  }
  // Node would take the public half of it. Whoever reads this service's files must not be able to make tokens.
  if (pem.includes('PRIVATE KEY-----'))
    throw new Error(`${setting}: ${path} holds a private key, which belongs to the gateway alone`);
  // Node would read the first one, and tokens of the others would be refused.
  if (pem.split('-----BEGIN ').length > 2)
    throw new Error(`${setting}: ${path} holds more than one key; give each a file of its own`);
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (error) {
    throw new Error(`${setting}: ${path} holds no public key in PEM format`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${setting}: the public key in ${path} is not one of EC on the curve P-256, which ES256 needs`,
  );
}

/** Appears all at once, by renaming; where the gateway was faster, its pair counts. */
function ensureKeyPair(dataDirectory: string): string {
  const directory = join(dataDirectory, 'internal-token');
  if (existsSync(join(directory, 'public.pem'))) return directory;
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
    if (!existsSync(join(directory, 'public.pem'))) throw dataDirectoryFault(dataDirectory, error);
  }
  return directory;
}
