import { hash, type KeyObject } from 'node:crypto';
import type { RequestHandler } from 'express';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { PetsError } from './errors.ts';
import { countHeader } from './http/count-header.ts';

/** In whose name a request is made. */
export interface TokenCaller {
  /** Issuer of the token: the gateway, or ops for an internal service. */
  issuer: string;
  /** Id of an API key, or name of an internal service. */
  subject: string;
}

declare module 'express-serve-static-core' {
  interface Locals {
    /** Set by requireInternalToken. */
    tokenCaller?: TokenCaller;
    /** Why the token was refused. */
    tokenRefusal?: string;
  }
}

/** The token is not valid. The message, for the log, says why and contains nothing of the token. */
export class TokenRefused extends Error {
  override name = 'TokenRefused';
}

/** @throws TokenRefused */
export type VerifyToken = (token: string) => TokenCaller;

const audience = 'pets-service';
const issuers: [string, ...string[]] = ['gateway', 'ops'];
const maxCachedTokens = 10_000;
/** Tolerance for the clocks of issuers at the expiry. */
const clockToleranceSeconds = 5;
/** Tolerance at the time of issue. Larger, since a clock that is ahead would otherwise have every request refused. */
const issuedAheadSeconds = 60;

const claims = z.object({ iss: z.string(), sub: z.string().min(1), iat: z.number(), exp: z.number() });

interface VerifyTokenDependencies {
  /** Several while keys are being rotated. A token names the key it was signed with. */
  publicKeys: readonly KeyObject[];
  now: () => number;
}

/**
 * Verifies tokens with public keys only: this service holds nothing that could sign one. A verified token is cached until
 * it expires, since checking a signature costs more than the rest of a request.
 */
export function createVerifyToken({ publicKeys, now }: VerifyTokenDependencies): VerifyToken {
  const keysById = new Map(publicKeys.map((key) => [keyId(key), key]));
  const verified = new LRUCache<string, { caller: TokenCaller; expiresAtMs: number }>({
    max: maxCachedTokens,
  });

  return function verifyToken(token) {
    const known = verified.get(token);
    if (known !== undefined && now() < known.expiresAtMs) return known.caller;
    verified.delete(token);
    const { iss: issuer, sub: subject, iat, exp } = verify(token);
    const caller = { issuer, subject };
    const aheadSeconds = Math.ceil(iat - now() / 1000);
    if (aheadSeconds > issuedAheadSeconds) {
      throw new TokenRefused(`issued ${aheadSeconds} s in the future by the clock of this host`);
    }
    verified.set(token, { caller, expiresAtMs: exp * 1000 });
    return caller;
  };

  function verify(token: string): z.infer<typeof claims> {
    const header = decodeHeader(token);
    if (header === undefined) throw new TokenRefused('not a JSON Web Token');
    const key = keysById.get(header.kid ?? '');
    if (key === undefined) throw new TokenRefused('signed with a key that is not among the public keys');
    // No extension is supported (RFC 7515 section 4.1.11).
    if (header.crit !== undefined) throw new TokenRefused('requires an extension');
    try {
      // The algorithm is fixed: what the token says of itself decides nothing (RFC 8725 section 3.1).
      const payload = jwt.verify(token, key, {
        algorithms: ['ES256'],
        audience,
        issuer: issuers,
        clockTolerance: clockToleranceSeconds,
        clockTimestamp: Math.floor(now() / 1000),
      });
      return claims.parse(payload);
    } catch (error) {
      throw new TokenRefused(describeRefusal(error, now()));
    }
  }
}

/** @returns undefined for a text that is no token, for which jsonwebtoken returns null or throws */
function decodeHeader(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header ?? undefined;
  } catch {
    return undefined;
  }
}

function describeRefusal(error: unknown, nowMs: number): string {
  if (error instanceof jwt.TokenExpiredError) {
    const seconds = Math.floor((nowMs - error.expiredAt.getTime()) / 1000);
    return `expired ${seconds} s ago by the clock of this host`;
  }
  // The library's messages name what was expected, and nothing of the token.
  if (error instanceof jwt.JsonWebTokenError) return error.message;
  return error instanceof z.ZodError ? 'claims are missing or have a wrong type' : 'not a valid token';
}

/** Refuses every request without a valid token. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // A repeated header is refused: which of two counts must not be left to chance.
    const { authorization: header = '' } = countHeader('authorization', req) === 1 ? req.headers : {};
    const [, token] = /^bearer +(\S+)$/i.exec(header) ?? [];
    try {
      if (token === undefined)
        throw new TokenRefused('not exactly one Authorization header with a Bearer token');
      res.locals.tokenCaller = verifyToken(token);
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw error;
      res.locals.tokenRefusal = error.message;
      throw new PetsError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } });
    }
    next();
  };
}

/** @throws Error on a route that does not require a token */
export function tokenCallerOf({ tokenCaller }: { tokenCaller?: TokenCaller }): TokenCaller {
  if (tokenCaller === undefined) throw new Error('requireInternalToken has not run before this step');
  return tokenCaller;
}

/** JWK thumbprint of the key (RFC 7638), as the issuer computes it. */
function keyId(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
