import { createPrivateKey, hash, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorMessage } from './error-message.ts';

/**
 * @param setting names the file, for messages
 * @throws Error that names the setting and the file if it can't be read or holds no EC P-256 private key
 */
export function readPrivateKey(setting: string, path: string): KeyObject {
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting}: ${path} can't be read (${errorMessage(error)})`, { cause: error });
  }
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (error) {
    throw new Error(`${setting}: ${path} has no unencrypted private key in PEM format`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${setting}: the private key in ${path} is not an EC key on the curve P-256, which ES256 needs`,
  );
}

/** JWK thumbprint of the key (RFC 7638). The pets service computes it, too, so no key id has to be configured. */
export function publicKeyId(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
