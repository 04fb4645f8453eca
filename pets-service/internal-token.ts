import { hash, type KeyObject } from 'node:crypto';
import type { RequestHandler } from 'express';
import jwt from 'jsonwebtoken';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { PetsError } from './errors.ts';
import { timesSent } from './times-sent.ts';

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
  }
}

/** @returns undefined for a token that is not valid here and now */
export type VerifyToken = (token: string) => TokenCaller | undefined;

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
    let payload: unknown;
    try {
      // Decoding may throw too.
      const header = jwt.decode(token, { complete: true })?.header;
      const key = keysById.get(header?.kid ?? '');
      // An extension that has to be understood, of which there are none here (RFC 7515 section 4.1.11).
      if (key === undefined || header?.crit !== undefined) return undefined;
      // The algorithm is fixed here: what the token says of itself decides nothing (RFC 8725 section 3.1).
      payload = jwt.verify(token, key, {
        algorithms: ['ES256'],
        audience,
        issuer: issuers,
        clockTolerance: clockToleranceSeconds,
        clockTimestamp: Math.floor(now() / 1000),
      });
    } catch {
      return undefined;
    }
    const parsed = claims.safeParse(payload);
    if (!parsed.success || parsed.data.iat > now() / 1000 + issuedAheadSeconds) return undefined;
    const caller = { issuer: parsed.data.iss, subject: parsed.data.sub };
    verified.set(token, { caller, expiresAtMs: parsed.data.exp * 1000 });
    return caller;
  };
}

/** Refuses every call without a valid token, whoever it comes from. */
export function requireInternalToken(verifyToken: VerifyToken): RequestHandler {
  return function requireInternalToken(req, res, next) {
    // Which of two headers would count is nothing to leave to chance.
    const { authorization: header = '' } = timesSent('authorization', req) === 1 ? req.headers : {};
    const [, token] = /^bearer +(\S+)$/i.exec(header) ?? [];
    const caller = token === undefined ? undefined : verifyToken(token);
    if (caller === undefined)
      throw new PetsError('unauthorized', { headers: { 'WWW-Authenticate': 'Bearer' } });
    res.locals.tokenCaller = caller;
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
