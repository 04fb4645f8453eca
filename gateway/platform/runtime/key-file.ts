import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorMessage } from './error-message.ts';

interface KeyFile {
  /** Names the file, for messages. */
  setting: string;
  path: string;
  kind: 'private' | 'public';
  /** @returns what is wrong with the text of the file, besides its being no such key */
  findIssue?: (pem: string) => string | undefined;
}

/** @throws Error that names the setting and the file if it can't be read or holds no such EC P-256 key */
export function readKeyFile({ setting, path, kind, findIssue }: KeyFile): KeyObject {
  const refuse = (issue: string, cause?: unknown) => new Error(`${setting}: ${path} ${issue}`, { cause });
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw refuse(`can't be read (${errorMessage(error)})`, error);
  }
  const issue = findIssue?.(pem);
  if (issue !== undefined) throw refuse(issue);
  let key: KeyObject;
  try {
    key = kind === 'private' ? createPrivateKey(pem) : createPublicKey(pem);
  } catch (error) {
    const wanted = kind === 'private' ? 'has no unencrypted private key' : 'holds no public key';
    throw refuse(`${wanted} in PEM format`, error);
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${setting}: the ${kind} key in ${path} is not an EC key on the curve P-256, which ES256 needs`,
  );
}

/** JWK thumbprint of the key (RFC 7638). Both services compute it, so no key id has to be configured. */
export function publicKeyId(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
