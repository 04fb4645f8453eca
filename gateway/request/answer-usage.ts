import type { Request, RequestHandler, Response } from 'express';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { GatewayError } from '../errors.ts';
import type { ApiKeyCache, Caller } from '../keys/api-key-cache.ts';
import { withCurrentRecord } from '../keys/current-record.ts';
import { dayNumberOf, mapWindows } from '../limits/windows.ts';
import { assertSmallBody, assertWellFormed } from '../platform/http/request.ts';
import { sendJson } from '../platform/http/response.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { RedisUnavailable, type RedisGate } from '../platform/redis/redis-gate.ts';
import type { Plans } from '../quota/plans.ts';
import { strikesBeforeBan, type LiveBanPolicy, type LiveUsagePolicy } from '../quota/policies.ts';
import { knownLimits } from '../quota/quota-decision.ts';
import { lookupLimitHeaders, usageHeaders } from '../quota/rate-limit-headers.ts';
import { readUsage, readUsageDays, type DayUsage, type Usage, type UsedWindow } from '../quota/usage.ts';
import type { RefuseAnonymous } from './authenticate.ts';
import { callerOf, isUnrestrictedInPage, setDecision } from './begin.ts';

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

const ownBanReason = 'It kept sending requests after 429.';

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

/**
 * @param days number of days, today included
 * @returns undefined if the caller's record has changed since it was read
 * @throws GatewayError service_unavailable while Redis is unavailable
 */
type LookUpUsage = (caller: Caller, days?: number) => Promise<LookedUpUsage | undefined>;

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
export function createUsageLookup(dependencies: UsageLookupDependencies): LookUpUsage {
  const { redis, gate, plans, banPolicy, usagePolicy } = dependencies;

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

  return async function lookUpUsage(caller, days = 0) {
    try {
      return await read(caller, days);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const headers = error instanceof RedisUnavailable ? { 'Retry-After': '1' } : {};
      throw new GatewayError('service_unavailable', { cause: error, headers });
    }
  };
}
