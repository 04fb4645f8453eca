import { hash, type KeyObject } from 'node:crypto';
import type { RequestHandler } from 'express';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { PetsError } from './errors.ts';
import { timesSent } from './http/count-header.ts';

/** In whose name a request is made. */
export interface TokenCaller {
  /** Who issued the token: the gateway, or ops for an internal service. */
  issuer: string;
  /** Id of an API key, or name of an internal service. */
  subject: string;
}

declare module 'express-serve-static-core' {
  interface Locals {
    /** Set by requireInternalToken. */
    tokenCaller?: TokenCaller;
    /** Why there is none. */
    tokenRefusal?: string;
  }
}

/** The token is not valid here and now. The message, for the log, tells why and nothing of the token. */
export class TokenRefused extends Error {
  override name = 'TokenRefused';
}

/** @throws TokenRefused */
export type VerifyToken = (token: string) => TokenCaller;

const audience = 'pets-service';
const issuers: [string, ...string[]] = ['gateway', 'ops'];
const rememberedTokens = 10_000;
/** A clock may be off by this much. */
const clockToleranceSeconds = 5;

/**
 * An issuer's clock may be ahead by this much. More than the tolerance for an expiry, since it would refuse everything;
 * what comes from further ahead was made by no clock of ours.
 */
const issuedAheadSeconds = 60;

const claims = z.object({ iss: z.string(), sub: z.string().min(1), iat: z.number(), exp: z.number() });

interface VerifyTokenDependencies {
  /** Several while keys are being rotated. A token names the one it was signed with. */
  publicKeys: readonly KeyObject[];
  now: () => number;
}

/**
 * Verifies tokens with public keys only: nothing that this service holds could make one. A verified token is
 * remembered until it expires, since checking a signature costs more than the rest of a request.
 */
export function createVerifyToken({ publicKeys, now }: VerifyTokenDependencies): VerifyToken {
  const keysById = new Map(publicKeys.map((key) => [keyId(key), key]));
  const verified = new LRUCache<string, { caller: TokenCaller; expiresAtMs: number }>({
    max: rememberedTokens,
  });

  return function verifyToken(token) {
    const known = verified.get(token);
    if (known !== undefined && now() < known.expiresAtMs) return known.caller;
    verified.delete(token);
    const { iss: issuer, sub: subject, iat, exp } = checked(token);
    const caller = { issuer, subject };
    const aheadSeconds = Math.ceil(iat - now() / 1000);
    if (aheadSeconds > issuedAheadSeconds) {
      throw new TokenRefused(`issued ${aheadSeconds} s in the future by the clock of this host`);
    }
    verified.set(token, { caller, expiresAtMs: exp * 1000 });
    return caller;
  };

  function checked(token: string): z.infer<typeof claims> {
    const header = headerOf(token);
    if (header === undefined) throw new TokenRefused('not a JSON Web Token');
    const key = keysById.get(header.kid ?? '');
    if (key === undefined) throw new TokenRefused('signed with a key that is not among the public keys');
    // Of which there are none here (RFC 7515 section 4.1.11).
    if (header.crit !== undefined) throw new TokenRefused('an extension that has to be understood');
    try {
      // The algorithm is fixed here: what the token says of itself decides nothing (RFC 8725 section 3.1).
      const payload = jwt.verify(token, key, {
        algorithms: ['ES256'],
        audience,
        issuer: issuers,
        clockTolerance: clockToleranceSeconds,
        clockTimestamp: Math.floor(now() / 1000),
      });
      return claims.parse(payload);
    } catch (error) {
      throw new TokenRefused(reasonOf(error, now()));
    }
  }
}

/** @returns undefined for what is no token at all, which makes the decoder return null, or throw */
function headerOf(token: string): jwt.JwtHeader | undefined {
  try {
    return jwt.decode(token, { complete: true })?.header ?? undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown, nowMs: number): string {
  if (error instanceof jwt.TokenExpiredError) {
    const seconds = Math.floor((nowMs - error.expiredAt.getTime()) / 1000);
    return `expired ${seconds} s ago by the clock of this host`;
  }
  // Its messages name what was wanted and not what was there.
  if (error instanceof jwt.JsonWebTokenError) return error.message;
  return error instanceof z.ZodError ? 'claims that are missing or of a wrong type' : 'not a valid token';
}

/** Refuses every call without a valid token, whoever it comes from. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // Which of two headers would count is nothing to leave to chance.
    const { authorization: header = '' } = timesSent('authorization', req) === 1 ? req.headers : {};
    const [, token] = /^bearer +(\S+)$/i.exec(header) ?? [];
    try {
      if (token === undefined) throw new TokenRefused('not one Authorization header with a Bearer token');
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
  if (tokenCaller === undefined) throw new Error('the caller is not known yet');
  return tokenCaller;
}

/** The key's JWK thumbprint (RFC 7638), as the issuer derives it. */
function keyId(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
