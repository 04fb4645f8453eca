import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import type { ApiKeyCache, ApiKeyLookup } from '../api-keys/api-key-cache.ts';
import { hashApiKey, isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { lookupError } from '../api-keys/lookup-error.ts';
import { GatewayError } from '../errors.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';
import { clientAddress } from './request-context.ts';

/** A scheme and a token, separated by one or more spaces (RFC 9110 section 11.4). */
const credentialsPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) +(\S+)$/;

/** Far longer than any key. Longer headers are not parsed. */
const maxHeaderLength = 256;

export type Credential =
  { outcome: 'key'; keyHash: string } | { outcome: 'missing_api_key' } | { outcome: 'malformed_api_key' };

/**
 * Parses the API key in the request's headers (specification section 5).
 * @param rawHeaders names and values in turn, as received: Node's parsed headers hide a repeated Authorization
 */
export function parseCredential(rawHeaders: readonly string[]): Credential {
  let header: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== 'authorization') continue;
    if (header !== undefined) return { outcome: 'malformed_api_key' };
    header = rawHeaders[index + 1];
  }
  if (header === undefined) return { outcome: 'missing_api_key' };
  if (header.length > maxHeaderLength) return { outcome: 'malformed_api_key' };
  const [, scheme, token] = credentialsPattern.exec(header) ?? [];
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined || !isWellFormedApiKey(token)) {
    return { outcome: 'malformed_api_key' };
  }
  return { outcome: 'key', keyHash: hashApiKey(token) };
}

interface AuthenticateDependencies {
  apiKeys: ApiKeyCache;
  refuseAnonymous: RefuseAnonymous;
  addressLimit: Pick<AddressLimit, 'wasRefused'>;
}

const maxInvalidKeys = 10_000;
const invalidKeyMs = 1000;

/** Finds the caller by the request's API key, or refuses the request: 401, or 503 if the key can't be checked. */
export function authenticate(dependencies: AuthenticateDependencies): RequestHandler {
  const { apiKeys, refuseAnonymous, addressLimit } = dependencies;
  const invalidKeys = new LRUCache<string, ApiKeyLookup>({ max: maxInvalidKeys, ttl: invalidKeyMs });

  /** A key that an address over its limit repeats is looked up once a second. Every other key may be valid. */
  async function find(keyHash: string, req: Request): Promise<ApiKeyLookup> {
    const known = invalidKeys.get(keyHash);
    if (known !== undefined && addressLimit.wasRefused(clientAddress(req))) return known;
    const lookup = await apiKeys.find(keyHash);
    if (lookup.outcome !== 'valid' && lookup.outcome !== 'unavailable') invalidKeys.set(keyHash, lookup);
    return lookup;
  }

  async function lookUp(keyHash: string, req: Request, res: Response, next: NextFunction): Promise<void> {
    const lookup = await find(keyHash, req);
    if (lookup.outcome !== 'valid') return refuseAnonymous(req, res, lookupError(lookup.outcome));
    res.locals.caller = lookup.caller;
    next();
  }

  return function authenticate(req, res, next) {
    const credential = parseCredential(req.rawHeaders);
    if (credential.outcome !== 'key') return refuseAnonymous(req, res, new GatewayError(credential.outcome));
    const caller = apiKeys.getCached(credential.keyHash);
    if (caller === undefined) return lookUp(credential.keyHash, req, res, next);
    res.locals.caller = caller;
    return next();
  };
}
