import { createPublicKey, type KeyObject } from 'node:crypto';
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

/** @throws Error that says why the token is not valid, for the log, and contains nothing of the token */
export type VerifyToken = (token: string) => TokenCaller;

/** The public keys that verify the tokens of an issuer. */
type KeysOf = (issuer: unknown) => readonly KeyObject[];

/** Far longer than a token has to be. With it, the cached tokens take at most 40 MB. */
const maxHeaderLength = 4096;
const maxCached = 10_000;
/** The clock of an issuer may be ahead by this. */
const clockAheadSeconds = 60;

const sub = z.string().min(1).max(255);
const claims = z.object({ iss: z.string(), sub, exp: z.number() });

/**
 * Verifies tokens with public keys only: this service holds nothing that could sign one. A verified token is cached until
 * it expires, since checking a signature costs more than the rest of a request.
 */
export function createVerifyToken(keysOf: KeysOf, now: () => number): VerifyToken {
  const verified = new LRUCache<string, { caller: TokenCaller; expiresAtMs: number }>({ max: maxCached });
  return function verifyToken(token) {
    const known = verified.get(token);
    if (known !== undefined && now() < known.expiresAtMs) return known.caller;
    const nowSeconds = Math.floor(now() / 1000);
    const { data } = claims.safeParse(verify(token, keysOf, nowSeconds));
    if (data === undefined) throw new Error('claims are missing, too long or of a wrong type');
    const { iss: issuer, sub: subject, exp } = data;
    // A token that lives for years would be a password. A person can ask for a day.
    const max = issuer === 'ops' ? 86_400 : 3600;
    const left = exp - nowSeconds;
    if (left > max + clockAheadSeconds) {
      throw new Error(`expires in ${left} s; a token of this issuer may be valid for ${max} s`);
    }
    const caller = { issuer, subject };
    verified.set(token, { caller, expiresAtMs: exp * 1000 });
    return caller;
  };
}

function verify(token: string, keysOf: KeysOf, nowSeconds: number): unknown {
  const { header, payload } = decode(token);
  // No extension is supported (RFC 7515 section 4.1.11).
  if (header.crit !== undefined) throw new Error('requires an extension');
  for (const publicKey of keysOf(typeof payload === 'string' ? undefined : payload.iss)) {
    try {
      // The algorithm is fixed: what the token says of itself decides nothing (RFC 8725 section 3.1).
      return jwt.verify(token, publicKey, {
        algorithms: ['ES256'],
        audience: 'pets-service',
        clockTolerance: 5,
        clockTimestamp: nowSeconds,
      });
    } catch (error) {
      // Another key of the issuer may have signed it.
      if (!(error instanceof Error && error.message === 'invalid signature')) throw error;
    }
  }
  throw new Error('signed with a key that is not among the public keys of its issuer');
}

function decode(token: string): jwt.Jwt {
  try {
    const decoded = jwt.decode(token, { complete: true });
    if (decoded !== null) return decoded;
  } catch {
    // For most of what is no token it returns null.
  }
  throw new Error('not a JSON Web Token');
}

/** Refuses every request without a valid token. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // A repeated header is refused: which of two counts must not be left to chance.
    const [header = '', ...more] = req.headersDistinct['authorization'] ?? [];
    const [, token] = (header.length <= maxHeaderLength && /^bearer +(\S+)$/i.exec(header)) || [];
    try {
      if (token === undefined || more.length > 0) {
        throw new Error('not exactly one Authorization header with a Bearer token of at most 4 KiB');
      }
      res.locals.tokenCaller = verifyToken(token);
    } catch (error) {
      res.locals.tokenRefusal = error instanceof Error ? error.message : String(error);
      throw new PetsError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } });
    }
    next();
  };
}

/** @throws Error that names the setting and the file if it does not hold one EC P-256 public key */
export function loadPublicKeys(config: Config): KeysOf {
  const services = config.PETS_SERVICE_CALLER_KEYS.map(({ name, path }) => {
    return { name, publicKey: readKey('PETS_SERVICE_CALLER_KEYS', path) };
  });
  const files = config.INTERNAL_TOKEN_PUBLIC_KEY_FILES;
  let gateway = files.map((path) => readKey('INTERNAL_TOKEN_PUBLIC_KEY_FILES', path));
  const own = join(config.DATA_DIR, 'internal-token', 'public.pem');
  return function keysOf(issuer) {
    // The gateway's key signs for both: the ops command uses it, too.
    if (issuer !== 'gateway' && issuer !== 'ops') {
      return services.filter(({ name }) => name === issuer).map(({ publicKey }) => publicKey);
    }
    // The gateway makes the pair, maybe after this service has started.
    if (gateway.length === 0 && existsSync(own)) gateway = [readKey('DATA_DIR', own)];
    return gateway;
  };
}

function readKey(setting: string, path: string): KeyObject {
  try {
    const pem = readFileSync(path, 'utf8');
    // Node would use its public half. A reader of this service's files must not be able to sign tokens.
    if (pem.includes('PRIVATE KEY-----')) throw new Error('it is a private key, which its owner alone has');
    const publicKey = createPublicKey(pem);
    if (publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1') return publicKey;
    throw new Error('it is not an EC key on the curve P-256, which ES256 needs');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${setting}: ${path} can't be used as a public key: ${reason}`, { cause: error });
  }
}
