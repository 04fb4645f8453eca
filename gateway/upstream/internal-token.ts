import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, type KeyObject } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataDirectoryError, makeDirectory } from '#runtime/data-directory.ts';
import { errorMessage } from '#runtime/error-message.ts';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';

interface TokenCaller {
  /** Id of the API key. */
  id: string;
  customerId: string;
  plan: string;
}

const lifetimeSeconds = 300;
/** Tokens are renewed this long before they expire, for requests under way and clocks that differ. */
const marginSeconds = 60;
const renewAfterMs = (lifetimeSeconds - marginSeconds) * 1000;
const maxCachedTokens = 100_000;

/**
 * Makes the Authorization header with which the gateway calls a service in the name of a customer. Its ES256 token (RFC 7519) is
 * used for all requests of a caller until shortly before it expires, since signing costs more than the rest of a request.
 * @param audience names the service: no other one accepts the tokens
 */
export function createAuthorize(privateKey: KeyObject, now: () => number, audience: string) {
  type CachedToken = { plan: string; authorization: string; issuedAtMs: number };
  const cache = new LRUCache<string, CachedToken>({ max: maxCachedTokens });
  const keyid = keyId(privateKey);
  return function authorize({ id, customerId, plan }: TokenCaller): string {
    const cached = cache.get(id);
    // Not the cache's own ttl, which does not follow the time of day: a token expires by it, also if the machine was
    // suspended or its clock was set. A token from a clock that was set back would lie in the future.
    const nowMs = now();
    if (cached?.plan === plan) {
      const ageMs = nowMs - cached.issuedAtMs;
      if (ageMs >= 0 && ageMs < renewAfterMs) return cached.authorization;
    }
    const options = { issuer: 'gateway', audience, subject: customerId, expiresIn: lifetimeSeconds };
    const claims = { iat: Math.floor(nowMs / 1000), plan, key: id };
    const token = jwt.sign(claims, privateKey, { ...options, algorithm: 'ES256', keyid });
    const authorization = `Bearer ${token}`;
    cache.set(id, { plan, authorization, issuedAtMs: nowMs });
    return authorization;
  };
}

/** Issues a token for a person or a script that calls a service directly. */
export function issueServiceToken(
  privateKey: KeyObject,
  subject: string,
  ttlSeconds: number,
  audience: string,
): string {
  const options = { issuer: 'ops', audience, subject, expiresIn: ttlSeconds } as const;
  return jwt.sign({}, privateKey, { ...options, algorithm: 'ES256', keyid: keyId(privateKey) });
}

/** JWK thumbprint of the key (RFC 7638). Both services compute it, so no key id has to be configured. */
export function keyId(privateKey: KeyObject): string {
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}

/**
 * Loads the private key that signs internal tokens: from the given file, or else the data directory's own pair, which is
 * made if it is missing.
 * @throws Error that names the setting and the file if it can't be read or holds no EC P-256 private key
 */
export function loadPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  if (file === undefined) ensureTokenKeyPair(dataDirectory);
  return findPrivateKey(file, dataDirectory);
}

/** As loadPrivateKey, where no pair must be made that no service knows: in a command, and in a process that has one. */
export function findPrivateKey(file: string | undefined, dataDirectory: string): KeyObject {
  if (file !== undefined) return readPrivateKey('INTERNAL_TOKEN_PRIVATE_KEY_FILE', file);
  return readPrivateKey('DATA_DIR', join(dataDirectory, 'internal-token', 'private.pem'));
}

/**
 * Makes the key pair of the internal tokens, private.pem and public.pem, unless the data directory has one. Of gateways that
 * start together, one is first: the pair is written into a directory of its own and appears by a rename, which fails if
 * another one was faster, and then its pair is used.
 * @throws Error that names DATA_DIR if the directory can't be written
 */
function ensureTokenKeyPair(dataDirectory: string): void {
  const directory = join(dataDirectory, 'internal-token');
  // An operator may have put one half here.
  const hasKey = () => ['private.pem', 'public.pem'].some((name) => existsSync(join(directory, name)));
  if (hasKey()) return;
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
    if (!hasKey()) throw dataDirectoryError(dataDirectory, error);
  }
}

/**
 * @param setting names the file, for messages
 * @throws Error that names the setting and the file if it can't be read or holds no EC P-256 private key
 */
export function readPrivateKey(setting: string, path: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(readFileSync(path, 'utf8'));
  } catch (error) {
    const isUnread = error instanceof Error && 'syscall' in error;
    const reason = isUnread
      ? `can't be read (${errorMessage(error)})`
      : 'has no unencrypted private key in PEM format';
    throw new Error(`${setting}: ${path} ${reason}`, { cause: error });
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${setting}: the private key in ${path} is not an EC key on the curve P-256, which ES256 needs`,
  );
}
