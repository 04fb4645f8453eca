import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.ts';
import type { ApiKeyCache, ApiKeyLookup, EndedKey } from '../keys/api-key-cache.ts';
import { describeKeyForm, hasApiKeyForm, hashApiKey, isWellFormedApiKey } from '../keys/api-key-format.ts';
import { endedKey, lookupError } from '../keys/current-record.ts';
import { anonymousWindow } from '../limits/setting-fields.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import { anonymousPlan } from '../quota/plan-settings.ts';
import { addressLimitHeaders, refusal } from '../quota/rate-limit-headers.ts';
import { clientAddress, setDecision } from './begin.ts';

/** The scheme and what follows one or more spaces (RFC 9110 section 11.4). */
const credentialsPattern = /^bearer(?: +([^ ].*)?)?$/is;

/** Far longer than any key. Longer headers are not parsed. */
const maxHeaderLength = 256;

type Credential =
  | { outcome: 'key'; keyHash: string }
  | { outcome: 'missing_api_key'; message?: string }
  | { outcome: 'malformed_api_key' | 'bad_request'; message: string };

function missingKey(keyHeader: string | undefined): Credential {
  if (keyHeader === undefined) return { outcome: 'missing_api_key' };
  const message = `An API key is required: send it as "Authorization: Bearer <API_KEY>", or alone in ${keyHeader}.`;
  return { outcome: 'missing_api_key', message };
}

const malformed = {
  repeated: becauseMalformed('The Authorization header must be given only once.'),
  repeatedKey: becauseMalformed('The header with the API key must be given only once.'),
  tooLong: becauseMalformed(`The Authorization header has more than ${maxHeaderLength} characters.`),
  scheme: becauseMalformed('The Authorization header must begin with the word Bearer and a space.'),
  token: becauseMalformed('After the word Bearer, the Authorization header must hold one API key.'),
  checksum: becauseMalformed(
    'The API key has a typing error: its last six characters do not fit the others.',
  ),
};

function becauseMalformed(message: string): Credential {
  return { outcome: 'malformed_api_key', message };
}

/**
 * Parses the API key in the request's headers (specification section 5).
 * @param rawHeaders names and values in turn, as received: Node's parsed headers hide a repeated Authorization
 * @param keyHeader header in lower case that may hold the key as well, without the word Bearer
 * @param parse parses the only Authorization
 */
export function parseCredential(
  rawHeaders: readonly string[],
  keyHeader?: string,
  parse = parseAuthorization,
): Credential {
  let authorization: string | undefined;
  let bareKey: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (isNamed(name, 'authorization')) {
      if (authorization !== undefined) return malformed.repeated;
      authorization = rawHeaders[index + 1];
    } else if (keyHeader !== undefined && isNamed(name, keyHeader)) {
      if (bareKey !== undefined) return malformed.repeatedKey;
      bareKey = rawHeaders[index + 1];
    }
  }
  if (bareKey === undefined)
    return authorization === undefined ? missingKey(keyHeader) : parse(authorization);
  if (authorization === undefined || credentialsPattern.exec(authorization)?.[1] === bareKey)
    return parseKey(bareKey);
  return {
    outcome: 'bad_request',
    message: `The headers Authorization and ${keyHeader} hold different keys: send one of them.`,
  };
}

/** The length tells nearly all other names apart. */
function isNamed(name: string, lowerCaseName: string): boolean {
  return name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName;
}

function parseAuthorization(authorization: string): Credential {
  if (authorization.length > maxHeaderLength) return malformed.tooLong;
  const credentials = credentialsPattern.exec(authorization);
  if (credentials === null) return malformed.scheme;
  const [, token = ''] = credentials;
  if (token === '' || /\s/.test(token)) return malformed.token;
  return parseKey(token);
}

function parseKey(token: string): Credential {
  if (!hasApiKeyForm(token)) return becauseMalformed(`An API key is ${describeKeyForm()}, without quotes.`);
  if (!isWellFormedApiKey(token)) return malformed.checksum;
  return { outcome: 'key', keyHash: hashApiKey(token) };
}

/**
 * Remembers the last Authorization of each connection, which most clients send with all of their requests, since checksum
 * and hash of a key are measurable. Not by key for all connections: no key stays in memory longer than the connection that
 * it came in on.
 */
function createConnectionCredentials(
  keyHeader: string | undefined,
): (req: Pick<IncomingMessage, 'rawHeaders' | 'socket'>) => Credential {
  const last = new WeakMap<Socket, { authorization: string; credential: Credential }>();
  function parse(socket: Socket, authorization: string): Credential {
    const known = last.get(socket);
    if (known?.authorization === authorization) return known.credential;
    const credential = parseAuthorization(authorization);
    // Anything else can be as long as all headers together, and would occupy memory while its connection is idle.
    if (credential.outcome === 'key') last.set(socket, { authorization, credential });
    return credential;
  }
  return ({ rawHeaders, socket }) =>
    parseCredential(rawHeaders, keyHeader, (authorization) => parse(socket, authorization));
}

interface AuthenticateDependencies {
  /** Header in lower case that may hold the key as well. */
  keyHeader: string | undefined;
  apiKeys: ApiKeyCache;
  refuseAnonymous: RefuseAnonymous;
  addressLimit: Pick<AddressLimit, 'wasRefused'>;
}

const maxInvalidKeys = 10_000;
const invalidKeyMs = 1000;

/** Finds the caller by the request's API key, or refuses the request: 401, or 503 if the key can't be checked. */
export function authenticate(dependencies: AuthenticateDependencies): RequestHandler {
  const { apiKeys, refuseAnonymous, addressLimit, keyHeader } = dependencies;
  const credentialOf = createConnectionCredentials(keyHeader);
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
    if (lookup.outcome !== 'valid') {
      return refuseAnonymous(req, res, lookupError(lookup.outcome), endedKey(lookup));
    }
    res.locals.caller = lookup.caller;
    next();
  }

  return function authenticate(req, res, next) {
    const credential = credentialOf(req);
    if (credential.outcome !== 'key') {
      const { outcome, ...options } = credential;
      return refuseAnonymous(req, res, new GatewayError(outcome, options));
    }
    const caller = apiKeys.getCached(credential.keyHash);
    if (caller === undefined) return lookUp(credential.keyHash, req, res, next);
    res.locals.caller = caller;
    return next();
  };
}

/**
 * Refuses a request without a valid key: counts it against its address and throws the given error, or
 * rate_limit_exceeded if the address' limit is used up, so that keys can't be guessed at leisure.
 * @param key the key that the request came with, if it has ended
 */
export type RefuseAnonymous = (
  req: Request,
  res: Response,
  error: GatewayError,
  key?: EndedKey,
) => Promise<never>;

interface RefuseAnonymousDependencies {
  addressLimit: AddressLimit;
  metrics: Metrics;
  now: () => number;
}

/** Labels of the limit of addresses. */
const limit = { plan: anonymousPlan, window: anonymousWindow };

export function createRefuseAnonymous(dependencies: RefuseAnonymousDependencies): RefuseAnonymous {
  const { addressLimit, metrics, now } = dependencies;
  return async function refuseAnonymous(req, res, error, key) {
    const { headers } = res.locals;
    if (key !== undefined) res.locals.endedKey = key;
    if (error.status === 503) {
      // The key may be valid, so the limit is shown but nothing is counted.
      setDecision(res, 'undecided');
      headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
      throw error;
    }
    const { allowed, window } = await addressLimit.charge(clientAddress(req));
    headers.setAll(addressLimitHeaders(window, now()));
    setDecision(res, allowed ? 'unauthenticated' : 'address_limited');
    if (!allowed) {
      metrics.quotaRefusals.inc(limit);
      throw new GatewayError('rate_limit_exceeded', {
        message: 'Too many requests without a valid API key from this address.',
        headers: refusal('ip', window.resetMs),
      });
    }
    metrics.unauthenticatedRequests.inc({ plan: limit.plan });
    // RFC 6750 section 3: a 401 names the scheme to use.
    if (error.status === 401) headers.set('WWW-Authenticate', 'Bearer');
    throw error;
  };
}
