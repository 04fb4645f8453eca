import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { ApiKeys, Caller } from '../api-keys/api-key-cache.ts';
import { hashApiKey, isWellFormedApiKey } from '../api-keys/api-key-format.ts';
import { GatewayError } from '../errors.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';

/** A scheme and a token with one or more spaces between them (RFC 9110 section 11.4). */
const credentialsPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) +(\S+)$/;

/** Far longer than any key; more is not even looked at. */
const maxHeaderLength = 256;

export type Credential =
  { outcome: 'key'; sha: string } | { outcome: 'missing_api_key' } | { outcome: 'malformed_api_key' };

/**
 * The API key in the request's headers (specification section 5).
 *
 * @param rawHeaders names and values in turn, as received: Node's parsed headers hide a repeated Authorization,
 * and which of two would count is nothing to leave to chance.
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
  return { outcome: 'key', sha: hashApiKey(token) };
}

interface AuthenticateDependencies {
  apiKeys: ApiKeys;
  refuseAnonymous: RefuseAnonymous;
}

/** Finds the caller behind the request's API key, or ends the request: 401, or 503 where nobody can tell. */
export function authenticate({ apiKeys, refuseAnonymous }: AuthenticateDependencies): RequestHandler {
  async function lookUp(sha: string, req: Request, res: Response, next: NextFunction): Promise<void> {
    const lookup = await apiKeys.find(sha);
    if (lookup.outcome !== 'valid') return refuseAnonymous(req, res, lookupError(lookup.outcome));
    res.locals.caller = lookup.caller;
    next();
  }

  return function authenticate(req, res, next) {
    const credential = parseCredential(req.rawHeaders);
    if (credential.outcome !== 'key') return refuseAnonymous(req, res, new GatewayError(credential.outcome));
    const caller = apiKeys.recall(credential.sha);
    if (caller === undefined) return lookUp(credential.sha, req, res, next);
    res.locals.caller = caller;
    return next();
  };
}

/** What a caller whose key is not valid is told. */
export function lookupError(outcome: 'unknown' | 'expired' | 'revoked' | 'unavailable'): GatewayError {
  switch (outcome) {
    case 'unknown':
      return new GatewayError('unknown_api_key');
    case 'expired':
      return new GatewayError('expired_api_key');
    case 'revoked':
      return new GatewayError('revoked_api_key');
    case 'unavailable':
      return new GatewayError('service_unavailable', { headers: { 'Retry-After': '1' } });
  }
}

/** The caller that authenticate found. For steps that come after it. */
export function callerOf(locals: { caller?: Caller }): Caller {
  if (locals.caller === undefined) throw new Error('authenticate has not run before this step');
  return locals.caller;
}
