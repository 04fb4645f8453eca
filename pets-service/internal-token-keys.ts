import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage } from '#runtime/error-message.ts';
import { ensureTokenKeyPair } from '#runtime/token-key-pair.ts';
import type { CallerKeyFile } from './caller-key-files.ts';
import type { CallerKey } from './trusted-keys.ts';

/**
 * Loads the keys that verify internal tokens: from the given files, or else the data directory's own pair, which is made if
 * it is missing.
 * @throws Error that names the setting and the file if it can't be read or does not hold one EC P-256 public key
 */
export function loadPublicKeys(files: readonly string[], dataDirectory: string): KeyObject[] {
  const owner = 'the gateway';
  if (files.length > 0) {
    return files.map((path) => readPublicKey('INTERNAL_TOKEN_PUBLIC_KEY_FILES', path, owner));
  }
  return [readPublicKey('DATA_DIR', join(ensureTokenKeyPair(dataDirectory), 'public.pem'), owner)];
}

/** Loads the public keys of internal services. @throws Error as loadPublicKeys */
export function loadCallerKeys(files: readonly CallerKeyFile[]): CallerKey[] {
  return files.map(({ name, path }) => ({
    name,
    publicKey: readPublicKey('PETS_SERVICE_CALLER_KEYS', path, name),
  }));
}

/** @param owner the only one that should have the private key */
function readPublicKey(setting: string, path: string, owner: string): KeyObject {
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting}: ${path} can't be read (${errorMessage(error)})`, { cause: error });
  }
  // Node would use its public half. A reader of this service's files must not be able to sign tokens.
  if (pem.includes('PRIVATE KEY-----')) {
    throw new Error(`${setting}: ${path} holds a private key, which only ${owner} should have`);
  }
  // Node would use the first one, and refuse tokens of the others.
  if (pem.split('-----BEGIN ').length > 2) {
    throw new Error(`${setting}: ${path} has more than one key: use one file for each key`);
  }
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (error) {
    throw new Error(`${setting}: ${path} holds no public key in PEM format`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${setting}: the public key in ${path} is not an EC key on the curve P-256, which ES256 needs`,
  );
}
