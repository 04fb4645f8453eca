import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../api-keys/api-key-cache.ts';

/** A token that tells the pets service in whose name the gateway asks. */
export type MintToken = (caller: Caller) => string;

const audience = 'pets-service';
const lifetimeSeconds = 300;
/** Renewed this long before the end, which leaves room for requests under way and for clocks that differ. */
const marginSeconds = 60;
const renewAfterMs = (lifetimeSeconds - marginSeconds) * 1000;
const rememberedTokens = 100_000;

/**
 * Mints ES256 tokens (RFC 7519), each used for all requests of one caller until shortly before it expires, since
 * signing costs more than the rest of a request.
 */
export function createMintToken(privateKey: KeyObject, now: () => number): MintToken {
  const tokens = new LRUCache<string, { token: string; issuedAtMs: number }>({ max: rememberedTokens });
  const keyid = keyId(privateKey);
  return function mintToken({ id, plan }) {
    const subject = `${id} ${plan}`;
    const known = tokens.get(subject);
    // Not by the cache's own ttl: the token ends by the time of day, which a machine that was asleep, or whose clock is
    // set, leaps over. Set back, it would be a token from the future.
    const nowMs = now();
    if (known !== undefined) {
      const ageMs = nowMs - known.issuedAtMs;
      if (ageMs >= 0 && ageMs < renewAfterMs) return known.token;
    }
    const contents = { issuer: 'gateway', subject: id, lifetimeSeconds, plan };
    const token = signToken(privateKey, keyid, contents, nowMs);
    tokens.set(subject, { token, issuedAtMs: nowMs });
    return token;
  };
}

/** A token for an internal service that calls the pets service directly. */
export function issueServiceToken(privateKey: KeyObject, service: string, ttlSeconds: number): string {
  const contents = {
    issuer: 'ops',
    subject: service,
    lifetimeSeconds: ttlSeconds,
  };
  return signToken(privateKey, keyId(privateKey), contents, Date.now());
}

interface TokenContents {
  issuer: string;
  subject: string;
  lifetimeSeconds: number;
  plan?: string;
}

function signToken(
  privateKey: KeyObject,
  keyid: string,
  { issuer, subject, lifetimeSeconds: expiresIn, plan }: TokenContents,
  nowMs: number,
): string {
  const options = { algorithm: 'ES256', issuer, audience, subject, expiresIn, keyid } as const;
  const iat = Math.floor(nowMs / 1000);
  return jwt.sign(plan === undefined ? { iat } : { iat, plan }, privateKey, options);
}

/** The key's JWK thumbprint (RFC 7638): both services derive it, so that no key id has to be configured. */
export function keyId(privateKey: KeyObject): string {
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
