import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../api-keys/api-keys.ts';

/** A token that tells the pets service in whose name the gateway asks. */
export type MintToken = (caller: Caller) => string;

const audience = 'pets-service';
const lifetimeSeconds = 300;
/** Renewed this long before the end, which leaves room for requests under way and for clocks that differ. */
const marginSeconds = 60;
const rememberedTokens = 100_000;

/**
 * Mints ES256 tokens (RFC 7519), each used for all requests of one caller until shortly before it expires, since
 * signing costs more than the rest of a request.
 */
export function createMintToken(privateKey: KeyObject): MintToken {
  const tokens = new LRUCache<string, { token: string; renewAtMs: number }>({ max: rememberedTokens });
  const keyid = keyId(privateKey);
  return function mintToken({ id, plan }) {
    const subject = `${id} ${plan}`;
    const known = tokens.get(subject);
    // By a clock that nobody sets, and not by the cache's own ttl, which takes a timer a millisecond.
    const nowMs = performance.now();
    if (known !== undefined && nowMs < known.renewAtMs) return known.token;
    const token = signToken(privateKey, keyid, { issuer: 'gateway', subject: id, lifetimeSeconds, plan });
    tokens.set(subject, { token, renewAtMs: nowMs + (lifetimeSeconds - marginSeconds) * 1000 });
    return token;
  };
}

/** A token for an internal service that calls the pets service directly. */
export function issueServiceToken(privateKey: KeyObject, service: string, ttlSeconds: number): string {
  return signToken(privateKey, keyId(privateKey), {
    issuer: 'ops',
    subject: service,
    lifetimeSeconds: ttlSeconds,
  });
}

interface TokenContents {
  issuer: string;
  subject: string;
  lifetimeSeconds: number;
  plan?: string;
}

function signToken(privateKey: KeyObject, keyid: string, contents: TokenContents): string {
  const { issuer, subject, lifetimeSeconds: expiresIn, plan } = contents;
  const options = { algorithm: 'ES256', issuer, audience, subject, expiresIn, keyid } as const;
  return jwt.sign(plan === undefined ? {} : { plan }, privateKey, options);
}

/** The key's JWK thumbprint (RFC 7638): both services derive it, so that no key id has to be configured. */
function keyId(privateKey: KeyObject): string {
  const { crv, kty, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
