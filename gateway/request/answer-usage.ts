import type { Request, RequestHandler, Response } from 'express';
import { GatewayError } from '../errors.ts';
import type { ApiKeyCache, Caller } from '../keys/api-key-cache.ts';
import { withCurrentRecord } from '../keys/current-record.ts';
import { mapWindows } from '../limits/windows.ts';
import { assertSmallBody, assertWellFormed } from '../platform/http/request.ts';
import { sendJson } from '../platform/http/send-response.ts';
import { usageHeaders } from '../quota/rate-limit-headers.ts';
import type { LookedUpUsage, LookUpUsage } from '../quota/usage-lookup.ts';
import type { UsedWindow } from '../quota/usage.ts';
import type { RefuseAnonymous } from './authenticate.ts';
import { callerOf, isUnrestrictedInPage, setDecision } from './request-context.ts';

interface AnswerUsageDependencies {
  /** Path of the resource, such as /v1/usage. */
  path: string;
  apiKeys: ApiKeyCache;
  lookUpUsage: LookUpUsage;
  refuseAnonymous: RefuseAnonymous;
}

/** Responds to GET with a client's plan and usage. Costs no quota, so that it works even after a 429. */
export function answerUsage(dependencies: AnswerUsageDependencies): RequestHandler {
  const { path, apiKeys, lookUpUsage, refuseAnonymous } = dependencies;
  return function answerUsage(req, res, next) {
    if (req.path !== path || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    return respond(req, res);
  };

  async function respond(req: Request, res: Response): Promise<void> {
    setDecision(res, 'free');
    const days = parseDays(req.query['days']);
    const current = await withCurrentRecord(apiKeys, callerOf(res.locals), (caller) =>
      lookUpUsage(caller, days),
    );
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

/** A client that wants more asks its operator. */
const maxDays = 90;

/** @returns 0 if the parameter is absent, undefined if it is invalid */
function parseDays(text: unknown): number | undefined {
  if (text === undefined) return 0;
  if (typeof text !== 'string' || !/^[1-9]\d?$/.test(text)) return undefined;
  return Number(text) <= maxDays ? Number(text) : undefined;
}

/** The body of /v1/usage. */
export function usageBody(caller: Caller, usage: LookedUpUsage) {
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
