import { countHeader } from '#runtime/malformed-request.ts';
import type { RequestHandler } from 'express';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { PetsError } from './errors.ts';
import type { TrustedKeys } from './token-keys.ts';

/** In whose name a request is made. */
export interface TokenCaller {
  /** Issuer of the token: the gateway, ops for a person, or the name of an internal service. */
  issuer: string;
  /** Id of a customer, or what the issuer chose. */
  subject: string;
}

/** The token is not valid. The message, for the log, says why and contains nothing of the token. */
export class TokenRefused extends Error {
  override name = 'TokenRefused';
}

/** @throws TokenRefused */
export type VerifyToken = (token: string) => TokenCaller;

/** Far longer than a token has to be. With it, the cached tokens take at most 40 MB. */
const maxHeaderLength = 4096;
const maxCachedTokens = 10_000;
/** Tolerance for the clocks of issuers at the expiry. */
const clockToleranceSeconds = 5;
/** Tolerance at the time of issue. Larger, since a clock that is ahead would otherwise have every request refused. */
const issuedAheadSeconds = 60;

/**
 * Maximum of `exp` minus `iat`. A token should live for minutes: one that lives for years would be a password. Those of the
 * gateway live for 5 minutes; a person can ask the ops command for one that lives for a day.
 */
const maxLifetimeSeconds = (issuer: string): number => (issuer === 'ops' ? 86_400 : 3600);

const claims = z.object({
  iss: z.string(),
  sub: z.string().min(1).max(255),
  iat: z.number(),
  exp: z.number(),
});

/**
 * Verifies tokens with public keys only: this service holds nothing that could sign one. A verified token is cached until
 * it expires, since checking a signature costs more than the rest of a request.
 */
export function createVerifyToken(trustedKeys: TrustedKeys, now: () => number): VerifyToken {
  const verified = new LRUCache<string, { caller: TokenCaller; expiresAtMs: number }>({
    max: maxCachedTokens,
  });

  return function verifyToken(token) {
    const known = verified.get(token);
    if (known !== undefined && now() < known.expiresAtMs) return known.caller;
    const { iss: issuer, sub: subject, iat, exp } = verify(token);
    const aheadSeconds = Math.ceil(iat - now() / 1000);
    if (aheadSeconds > issuedAheadSeconds) {
      throw new TokenRefused(`issued ${aheadSeconds} s in the future by the clock of this host`);
    }
    const seconds = exp - iat;
    const max = maxLifetimeSeconds(issuer);
    if (seconds > max) {
      throw new TokenRefused(`valid for ${seconds} s; a token of this issuer may be valid for ${max} s`);
    }
    const caller = { issuer, subject };
    verified.set(token, { caller, expiresAtMs: exp * 1000 });
    return caller;
  };

  function verify(token: string): z.infer<typeof claims> {
    const { header, payload } = decode(token);
    const issuer = typeof payload === 'string' ? undefined : payload.iss;
    const keys = trustedKeys.candidates(header.kid, issuer);
    // No extension is supported (RFC 7515 section 4.1.11).
    if (keys.length > 0 && header.crit !== undefined) throw new TokenRefused('requires an extension');
    const reasons: string[] = [];
    for (const { publicKey, issuers } of keys) {
      try {
        // The algorithm is fixed: what the token says of itself decides nothing (RFC 8725 section 3.1).
        const payload = jwt.verify(token, publicKey, {
          algorithms: ['ES256'],
          audience: 'pets-service',
          issuer: issuers,
          clockTolerance: clockToleranceSeconds,
          clockTimestamp: Math.floor(now() / 1000),
        });
        return claims.parse(payload);
      } catch (error) {
        reasons.push(describeRefusal(error, now()));
      }
    }
    // Of the keys of a caller, the one that signed the token has the reason.
    const reason = reasons.find((one) => one !== 'invalid signature') ?? reasons[0];
    throw new TokenRefused(reason ?? 'signed with a key that is not among the public keys');
  }
}

/** @throws TokenRefused for a text that is no token, for which jsonwebtoken returns null or throws */
function decode(token: string): jwt.Jwt {
  try {
    const decoded = jwt.decode(token, { complete: true });
    if (decoded !== null) return decoded;
  } catch {
    // Below.
  }
  throw new TokenRefused('not a JSON Web Token');
}

function describeRefusal(error: unknown, nowMs: number): string {
  if (error instanceof jwt.TokenExpiredError) {
    const seconds = Math.floor((nowMs - error.expiredAt.getTime()) / 1000);
    return `expired ${seconds} s ago by the clock of this host`;
  }
  // The library's messages name what was expected, and nothing of the token.
  if (error instanceof jwt.JsonWebTokenError) return error.message;
  if (error instanceof z.ZodError) return 'claims are missing, too long or of a wrong type';
  return 'not a valid token';
}

/** Refuses every request without a valid token. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // A repeated header is refused: which of two counts must not be left to chance.
    const { authorization: header = '' } = countHeader('authorization', req) === 1 ? req.headers : {};
    const [, token] = /^bearer +(\S+)$/i.exec(header) ?? [];
    try {
      if (header.length > maxHeaderLength) {
        throw new TokenRefused(`Authorization has more than ${maxHeaderLength} characters`);
      }
      if (token === undefined) {
        throw new TokenRefused('not exactly one Authorization header with a Bearer token');
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

/** @throws Error on a route that does not require a token */
export function tokenCallerOf({ tokenCaller }: { tokenCaller?: TokenCaller }): TokenCaller {
  if (tokenCaller === undefined) throw new Error('requireInternalToken has not run before this step');
  return tokenCaller;
}
