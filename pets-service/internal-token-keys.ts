import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The keys that internal tokens are verified with: from the given files, else the data directory's own pair, which
 * is made by whichever service needs it first.
 * @throws Error that names the file where one can't be read or holds no EC P-256 key
 */
export function loadPublicKeys(files: readonly string[], dataDirectory: string): KeyObject[] {
  const paths = files.length > 0 ? files : [join(ensureKeyPair(dataDirectory), 'public.pem')];
  return paths.map((path) => {
    let key: KeyObject;
    try {
      key = createPublicKey(readFileSync(path));
    } catch (error) {
      throw new Error(`can't read a public key of internal tokens from ${path}`, { cause: error });
    }
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
    throw new Error(`${path} does not hold an EC public key on the curve P-256, which ES256 needs`);
  });
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
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const draft = mkdtempSync(join(dataDirectory, 'internal-token-'));
  writeFileSync(join(draft, 'private.pem'), privateKey, { mode: 0o600 });
  writeFileSync(join(draft, 'public.pem'), publicKey, { mode: 0o600 });
  try {
    renameSync(draft, directory);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(join(directory, 'public.pem'))) throw error;
  }
  return directory;
}
