import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectoryError, makeDirectory } from './data-directory.ts';

/**
 * Makes the key pair of the internal tokens, private.pem and public.pem, unless the data directory has one. Of gateways that
 * start together, one is first: the pair is written into a directory of its own and appears by a rename, which fails if
 * another one was faster, and then its pair is used.
 * @returns the directory of the pair
 * @throws Error that names DATA_DIR if the directory can't be written
 */
export function ensureTokenKeyPair(dataDirectory: string): string {
  const directory = tokenKeyDirectory(dataDirectory);
  if (hasKey(directory)) return directory;
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
    if (!hasKey(directory)) throw dataDirectoryError(dataDirectory, error);
  }
  return directory;
}

/** An operator may have put one half here. */
function hasKey(directory: string): boolean {
  return ['private.pem', 'public.pem'].some((name) => existsSync(join(directory, name)));
}

export function tokenKeyDirectory(dataDirectory: string): string {
  return join(dataDirectory, 'internal-token');
}
