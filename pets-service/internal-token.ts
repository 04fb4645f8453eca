import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestHandler } from 'express';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Config } from './config.ts';
import { PetsError } from './errors.ts';

/** In whose name a request is made. */
export interface TokenCaller {
  /** Issuer of the token: the gateway, ops for a person, or the name of an internal service. */
  issuer: string;
  /** Id of a customer, or what the issuer chose. */
  subject: string;
}

/** A public key, and the values of `iss` of the tokens that it verifies. The name of a caller labels metrics, too. */
export interface TrustedKey {
  publicKey: KeyObject;
  issuers: [string, ...string[]];
}

/** The gateway's key signs for both: the ops command uses it, too. */
export const gatewayIssuers: TrustedKey['issuers'] = ['gateway', 'ops'];

/** The token is not valid. The message, for the log, says why and contains nothing of the token. */
export class TokenRefused extends Error {}

/** @throws TokenRefused */
export type VerifyToken = (token: string) => TokenCaller;

/** Far longer than a token has to be. With it, the cached tokens take at most 40 MB. */
const maxHeaderLength = 4096;
const maxCached = 10_000;
/** The clock of an issuer may be ahead by this. */
const issuedAheadSeconds = 60;

const sub = z.string().min(1).max(255);
const claims = z.object({ iss: z.string(), sub, iat: z.number(), exp: z.number() });

/**
 * Verifies tokens with public keys only: this service holds nothing that could sign one. A verified token is cached until
 * it expires, since checking a signature costs more than the rest of a request.
 */
export function createVerifyToken(findKeys: FindKeys, now: () => number): VerifyToken {
  const verified = new LRUCache<string, { caller: TokenCaller; expiresAtMs: number }>({ max: maxCached });
  return function verifyToken(token) {
    const known = verified.get(token);
    if (known !== undefined && now() < known.expiresAtMs) return known.caller;
    const { iss: issuer, sub: subject, iat, exp } = verify(token, findKeys, now());
    const aheadSeconds = Math.ceil(iat - now() / 1000);
    if (aheadSeconds > issuedAheadSeconds) {
      throw new TokenRefused(`issued ${aheadSeconds} s in the future by the clock of this host`);
    }
    // A token that lives for years would be a password. A person can ask for a day.
    const max = issuer === 'ops' ? 86_400 : 3600;
    if (exp - iat > max) {
      throw new TokenRefused(`valid for ${exp - iat} s; a token of this issuer may be valid for ${max} s`);
    }
    const caller = { issuer, subject };
    verified.set(token, { caller, expiresAtMs: exp * 1000 });
    return caller;
  };
}

function verify(token: string, findKeys: FindKeys, nowMs: number): z.infer<typeof claims> {
  const { header, payload } = decode(token);
  const keys = findKeys(header.kid, typeof payload === 'string' ? undefined : payload.iss);
  // No extension is supported (RFC 7515 section 4.1.11).
  if (keys.length > 0 && header.crit !== undefined) throw new TokenRefused('requires an extension');
  const reasons: string[] = [];
  for (const { publicKey, issuers } of keys) {
    try {
      // The algorithm is fixed: what the token says of itself decides nothing (RFC 8725 section 3.1).
      const verified = jwt.verify(token, publicKey, {
        algorithms: ['ES256'],
        audience: 'pets-service',
        issuer: issuers,
        clockTolerance: 5,
        clockTimestamp: Math.floor(nowMs / 1000),
      });
      return claims.parse(verified);
    } catch (error) {
      reasons.push(describeRefusal(error, nowMs));
    }
  }
  // Of the keys of a caller, the one that signed the token has the reason.
  const reason = reasons.find((one) => one !== 'invalid signature') ?? reasons[0];
  throw new TokenRefused(reason ?? 'signed with a key that is not among the public keys');
}

function decode(token: string): jwt.Jwt {
  try {
    const decoded = jwt.decode(token, { complete: true });
    if (decoded !== null) return decoded;
  } catch {
    // For most of what is no token it returns null.
  }
  throw new TokenRefused('not a JSON Web Token');
}

function describeRefusal(error: unknown, nowMs: number): string {
  if (error instanceof jwt.TokenExpiredError) {
    const seconds = Math.floor((nowMs - error.expiredAt.getTime()) / 1000);
    return `expired ${seconds} s ago by the clock of this host`;
  }
  // The library's messages name what was expected, and nothing of the token.
  const isOfLibrary = error instanceof jwt.JsonWebTokenError;
  return isOfLibrary ? error.message : 'claims are missing, too long or of a wrong type';
}

/** Refuses every request without a valid token. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // A repeated header is refused: which of two counts must not be left to chance.
    const [header = '', ...more] = req.headersDistinct['authorization'] ?? [];
    const [, token] = (header.length <= maxHeaderLength && /^bearer +(\S+)$/i.exec(header)) || [];
    try {
      if (token === undefined || more.length > 0) {
        throw new TokenRefused('not exactly one Authorization header with a Bearer token of at most 4 KiB');
      }
      res.locals.tokenCaller = verifyToken(token);
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      res.locals.tokenRefusal = error.message;
      throw new PetsError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } });
    }
    next();
  };
}

/** The keys that may have signed a token: the one that it names, and all of the caller that it says it is from. */
export type FindKeys = (kid: unknown, issuer: unknown) => readonly TrustedKey[];

/**
 * @param keys those of the gateway first
 * @throws Error that names both if two callers, or a caller and the gateway, have the same key
 */
export function createFindKeys(keys: readonly TrustedKey[]): FindKeys {
  const byId = new Map<unknown, TrustedKey>();
  for (const key of keys) {
    // JWK thumbprint (RFC 7638), which the gateway computes, too: no key id has to be configured.
    const { crv, kty, x, y } = key.publicKey.export({ format: 'jwk' });
    const id = hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
    const owner = byId.get(id)?.issuers[0];
    if (owner !== undefined && key.issuers !== gatewayIssuers) {
      throw new Error(
        `PETS_SERVICE_CALLER_KEYS: a key of ${key.issuers[0]} is also a key of ${owner}: each key belongs to one name, and is listed once`,
      );
    }
    byId.set(id, key);
  }
  const callers = keys.filter(({ issuers }) => issuers !== gatewayIssuers);
  return function findKeys(kid, issuer) {
    const named = byId.get(kid);
    return named === undefined ? callers.filter(({ issuers }) => issuers[0] === issuer) : [named];
  };
}

/** @throws Error that names the setting and the file if it does not hold one EC P-256 public key */
export function loadTrustedKeys(config: Config): FindKeys {
  const callers = config.PETS_SERVICE_CALLER_KEYS.map((entry) => {
    const [name = '', ...path] = entry.split(':');
    return readKey('PETS_SERVICE_CALLER_KEYS', path.join(':').trim(), [name]);
  });
  const findKeysOf = (setting: string, paths: readonly string[]) =>
    createFindKeys([...paths.map((path) => readKey(setting, path, gatewayIssuers)), ...callers]);
  const files = config.INTERNAL_TOKEN_PUBLIC_KEY_FILES;
  if (files.length > 0) return findKeysOf('INTERNAL_TOKEN_PUBLIC_KEY_FILES', files);
  // The gateway makes the pair, maybe after this service has started.
  const own = join(config.DATA_DIR, 'internal-token', 'public.pem');
  const findCallers = findKeysOf('', []);
  let findAll: FindKeys | undefined;
  return (kid, issuer) => {
    if (findAll === undefined && existsSync(own)) findAll = findKeysOf('DATA_DIR', [own]);
    return (findAll ?? findCallers)(kid, issuer);
  };
}

function readKey(setting: string, path: string, issuers: TrustedKey['issuers']): TrustedKey {
  try {
    const pem = readFileSync(path, 'utf8');
    // Node would use its public half. A reader of this service's files must not be able to sign tokens.
    if (pem.includes('PRIVATE KEY-----')) throw new Error('it is a private key, which its owner alone has');
    // Node would use the first one, and refuse tokens of the others.
    if (pem.split('-----BEGIN ').length > 2) throw new Error('it has more than one key');
    const publicKey = createPublicKey(pem);
    if (publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') return { publicKey, issuers };
    throw new Error('it is not an EC key on the curve P-256, which ES256 needs');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${setting}: ${path} can't be used as a public key: ${reason}`, { cause: error });
  }
}
