import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayError } from '../errors.ts';
import type { ApiKeyCache, Caller } from '../keys/api-key-cache.ts';
import { withCurrentRecord } from '../keys/current-record.ts';
import { dayNumberOf, mapWindows } from '../limits/windows.ts';
import type { PublicAddress } from '../platform/http/addresses.ts';
import { assertSmallBody, assertWellFormed, awaitsContinue } from '../platform/http/request.ts';
import { sendJson } from '../platform/http/response.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { nameWrongType } from '../platform/redis/redis-errors.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import type { Plans } from '../quota/plans.ts';
import { strikesBeforeBan, type LiveBanPolicy, type LiveUsagePolicy } from '../quota/policies.ts';
import { knownLimits } from '../quota/quota-decision.ts';
import { addressLimitHeaders, lookupLimitHeaders, usageHeaders } from '../quota/rate-limit-headers.ts';
import { readUsage, readUsageDays, type DayUsage, type Usage, type UsedWindow } from '../quota/usage.ts';
import type { ApiDescription } from '../upstream/api-description.ts';
import type { RefuseAnonymous } from './authenticate.ts';
import { callerOf, clientAddress, isUnrestrictedInPage, setDecision, type Neighbour } from './begin.ts';

/** Headers of a response as its origin decides. */
export type OriginHeaders = (origin: string | undefined) => Readonly<Record<string, string>>;

/** Seconds for which a browser need not ask again: the longest that Chromium keeps it. */
const preflightMaxAge = '7200';

/** @returns the headers with which a page of an origin may read a response; none at all if no site is allowed */
export function createOriginHeaders(corsOrigins: readonly string[] | '*'): OriginHeaders {
  if (corsOrigins.length === 0) return () => ({});
  const allowed = corsOrigins === '*' ? undefined : new Set(corsOrigins);
  return (origin) =>
    origin === undefined || allowed?.has(origin) === false
      ? { Vary: 'Origin' }
      : {
          Vary: 'Origin',
          'Access-Control-Allow-Origin': allowed === undefined ? '*' : origin,
          'Access-Control-Expose-Headers': '*',
        };
}

interface AllowOriginsDependencies {
  corsOrigins: readonly string[] | '*';
  originHeaders: OriginHeaders;
  api: Pick<ApiDescription, 'everything'>;
  publicAddress: Pick<PublicAddress, 'baseUrl'>;
}

/**
 * Lets pages of other sites use the API, and read every response and refusal (CORS protocol of the Fetch standard). Never with
 * credentials of the browser's own, such as cookies: a page has to send a key. An early step, so that refusals have its headers.
 * @returns no step at all if no site is allowed
 */
export function allowOrigins(dependencies: AllowOriginsDependencies): RequestHandler[] {
  const { corsOrigins, originHeaders, api, publicAddress } = dependencies;
  if (corsOrigins.length === 0) return [];
  return [
    function allowOrigins(req, res, next) {
      const { headers, isOfApi, route = api.everything } = res.locals;
      if (!isOfApi) return next();
      const { origin } = req.headers;
      headers.setAll(originHeaders(origin));
      if (!headers.has('Access-Control-Allow-Origin')) return next();
      if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
        headers.set('Access-Control-Allow-Methods', route.allow.join(', '));
        // The asterisk does not cover Authorization. A header that means nothing to the operation is dropped later.
        headers.set('Access-Control-Allow-Headers', 'Authorization, *');
        headers.set('Access-Control-Max-Age', preflightMaxAge);
        // As any OPTIONS, also for a path that does not exist: without it the page could not read the 404.
        res.locals.route = route;
        return next();
      }
      // The gateway's own pages send an Origin, too, unless they only read.
      res.locals.isFromOtherSite = URL.parse(publicAddress.baseUrl(req))?.origin !== origin;
      next();
    },
  ];
}

interface AnswerWithoutKeyDependencies {
  api: ApiDescription;
  neighbours: readonly Neighbour[];
  publicAddress: PublicAddress;
  addressLimit: Pick<AddressLimit, 'peek'>;
  now: () => number;
}

/** Responds to what needs no key and costs no quota: the description, the neighbours, and OPTIONS of any path. */
export function answerWithoutKey(dependencies: AnswerWithoutKeyDependencies): RequestHandler {
  const { api, neighbours, publicAddress, addressLimit, now } = dependencies;
  // The document changes only with a new version of the gateway. With an address from the request, a shared cache could give
  // one client what another one's headers have made.
  const cacheControl = `${publicAddress.fixed === undefined ? 'private' : 'public'}, max-age=300`;
  return function answerWithoutKey(req, res, next) {
    if (req.method === 'OPTIONS') return answerOptions(req, res, next);
    // Nearly all requests are for the API.
    if (res.locals.isOfApi) return next();
    const isDescription = req.path === '/openapi.json' && (req.method === 'GET' || req.method === 'HEAD');
    return isDescription ? serveDescription(req, res) : serveNeighbour(req, res, next);
  };

  /** Costs nothing; under the base path it shows the address' limit. */
  async function answerOptions(req: Request, res: Response, next: NextFunction) {
    const { route, headers, isOfApi } = res.locals;
    if (route === undefined) return next();
    beginFree(req, res);
    if (isOfApi) headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
    headers.set('Allow', route.allow.join(', '));
    res.writeHead(204, headers.toRaw()).end();
  }

  /** Pages of any origin may read it: it needs no key, and the tools that read it run in browsers, too. */
  function serveDescription(req: Request, res: Response): void {
    beginFree(req, res);
    passHeaders(res);
    res.set({ 'Cache-Control': cacheControl, 'Access-Control-Allow-Origin': '*' });
    res.type('json').send(api.jsonAt(publicAddress.baseUrl(req)));
  }

  function serveNeighbour(req: Request, res: Response, next: NextFunction): unknown {
    const { route } = res.locals;
    if (route === undefined || !route.allow.includes(req.method)) return next();
    const neighbour = neighbours.find(({ match }) => match(req.path) !== undefined);
    if (neighbour === undefined) return next();
    beginFree(req, res);
    passHeaders(res);
    if (awaitsContinue(req)) res.writeContinue();
    return neighbour.serve(req, res, next);
  }
}

function beginFree(req: Request, res: Response): void {
  assertWellFormed(req);
  res.locals.decision = 'free';
}

/** Express' own methods send what is set on the response. */
function passHeaders(res: Response): void {
  const raw = res.locals.headers.toRaw();
  for (let index = 0; index < raw.length; index += 2) res.setHeader(String(raw[index]), raw[index + 1] ?? '');
}

interface AnswerUsageDependencies {
  /** Path of the resource, such as /v1/usage. */
  path: string;
  apiKeys: ApiKeyCache;
  lookUpUsage: LookUpUsage;
  refuseAnonymous: RefuseAnonymous;
  now: () => number;
}

/** Responds to GET with a client's plan and usage. Costs no quota, so that it works even after a 429. */
export function answerUsage(dependencies: AnswerUsageDependencies): RequestHandler {
  const { path, apiKeys, lookUpUsage, refuseAnonymous, now } = dependencies;
  const countLookup = createLookupLimit(now);
  return function answerUsage(req, res, next) {
    if (req.path !== path || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    return respond(req, res);
  };

  async function respond(req: Request, res: Response): Promise<void> {
    setDecision(res, 'free');
    const days = parseDays(req.query['days']);
    const known = callerOf(res.locals);
    await countLookup(known.keyHash);
    const current = await withCurrentRecord(apiKeys, known, (caller) => lookUpUsage(caller, days));
    if (current.outcome === 'refused') {
      delete res.locals.caller;
      return refuseAnonymous(req, res, current.error, current.key);
    }
    const { caller, result: usage } = current;
    res.locals.caller = caller;
    res.locals.headers.setAll(usageHeaders(usage));
    // An error about the request carries the caller's own limits, as everywhere.
    assertWellFormed(req);
    assertSmallBody(req);
    if (isUnrestrictedInPage(res.locals, caller)) throw new GatewayError('unrestricted_key');
    if (days === undefined) {
      throw new GatewayError('invalid_request', {
        message: `days must be a whole number from 1 to ${maxDays}.`,
      });
    }
    sendJson(res, 200, res.locals.headers, JSON.stringify(usageBody(caller, usage)));
  }
}

/** Limit of each key on each instance: a look-up costs no quota, so something else has to bound its cost. */
const lookupsPerSecond = 10;

/** Counts one more look-up of a key. @throws GatewayError rate_limit_exceeded if there are too many */
function createLookupLimit(now: () => number) {
  const lookups = new RateLimiterMemory({ points: lookupsPerSecond, duration: 1 });
  return async function countLookup(keyHash: string): Promise<void> {
    try {
      await lookups.consume(keyHash);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      const window = { limit: lookupsPerSecond, remaining: 0, resetMs: error.msBeforeNext };
      throw new GatewayError('rate_limit_exceeded', {
        message: `Usage can be read ${lookupsPerSecond} times a second.`,
        headers: lookupLimitHeaders(window, now()),
      });
    }
  };
}

/** A client that wants more asks its operator. */
const maxDays = 90;

/** @returns 0 if the parameter is absent, undefined if it is invalid */
function parseDays(text: unknown): number | undefined {
  if (text === undefined) return 0;
  if (typeof text !== 'string' || !/^[1-9]\d?$/.test(text)) return undefined;
  return Number(text) <= maxDays ? Number(text) : undefined;
}

/** The body of /v1/usage. */
function usageBody(caller: Caller, usage: LookedUpUsage) {
  const { windows, banMs, banReason, strikes, strikesToBan, nowMs } = usage;
  const { id, name, expiresAt, scopes, replacedBy = null } = caller;
  return {
    plan: caller.plan,
    key: {
      id,
      name,
      expiresAt: expiresAt === undefined ? null : isoTime(Date.parse(expiresAt)),
      replacedBy,
      // Left out if undefined.
      scopes,
    },
    ...mapWindows(windows, (window) => windowJson(window, nowMs)),
    bannedUntil: banMs > 0 ? wholeSecond(nowMs + banMs) : null,
    banReason: banMs > 0 ? (banReason ?? ownBanReason) : null,
    strikes,
    strikesToBan,
    days: usage.days,
  };
}

const ownBanReason = 'It kept sending requests when refused.';

function windowJson({ limit, used, remaining, resetMs }: UsedWindow, nowMs: number) {
  return { limit, used, remaining, resetsAt: wholeSecond(nowMs + resetMs) };
}

/** ISO 8601 in UTC, rounded up as X-RateLimit-Reset is. */
function wholeSecond(ms: number): string {
  return isoTime(Math.ceil(ms / 1000) * 1000);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** What the owner of a key sees of its use. */
interface LookedUpUsage extends Usage {
  /** Strikes that lead to a ban; null if bans are disabled. */
  strikesToBan: number | null;
  /** Present if a number of days was asked for. */
  days?: DayUsage[];
}

type LookUpUsage = ReturnType<typeof createUsageLookup>;

interface UsageLookupDependencies {
  redis: RedisClient;
  gate: RedisGate;
  plans: Plans;
  banPolicy: LiveBanPolicy;
  usagePolicy: LiveUsagePolicy;
}

/**
 * Reads a key's usage for its owner, by one Redis command, which also confirms the record, and one for all months.
 */
export function createUsageLookup({ redis, gate, plans, banPolicy, usagePolicy }: UsageLookupDependencies) {
  async function read(caller: Caller, days: number): Promise<LookedUpUsage | undefined> {
    const { customerId, rev } = caller;
    const limits = knownLimits(plans, caller);
    const policy = banPolicy.current();
    const read = await gate.send(() => readUsage(redis, { place: caller, rev, limits, banPolicy: policy }));
    if (read === undefined) return undefined;
    const usage = { ...read, strikesToBan: strikesBeforeBan(policy, limits.minute) };
    if (days === 0) return usage;
    const today = dayNumberOf(usage.nowMs);
    const oldest = today - usagePolicy.current().retentionDays;
    const range = { first: today - days + 1, last: today, oldest };
    return { ...usage, days: await gate.send(() => readUsageDays(redis, customerId, range)) };
  }

  /**
   * @param days number of days, today included
   * @returns undefined if the caller's record has changed since it was read
   * @throws GatewayError service_unavailable while Redis is unavailable
   */
  return async function lookUpUsage(caller: Caller, days = 0): Promise<LookedUpUsage | undefined> {
    try {
      return await read(caller, days);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const headers = error instanceof RedisUnavailable ? { 'Retry-After': '1' } : {};
      throw new GatewayError('service_unavailable', { cause: nameWrongType(error), headers });
    }
  };
}
