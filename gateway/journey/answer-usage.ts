import type { Request, RequestHandler, Response } from 'express';
import type { ApiKeyCache } from '../api-keys/api-key-cache.ts';
import { withCurrentRecord } from '../api-keys/current-record.ts';
import { sendJson } from '../http/send-response.ts';
import { usageHeaders } from '../quota/rate-limit-headers.ts';
import type { LookUpUsage } from '../quota/usage-lookup.ts';
import type { UsedWindow } from '../quota/usage.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';
import { assertSmallBody, assertWellFormed } from './reject-request.ts';
import { callerOf, setDecision } from './request-context.ts';

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
    const current = await withCurrentRecord(apiKeys, callerOf(res.locals), lookUpUsage);
    if (current.outcome === 'refused') {
      delete res.locals.caller;
      return refuseAnonymous(req, res, current.error);
    }
    const { caller, result: usage } = current;
    const { minute, day, banMs, nowMs } = usage;
    res.locals.caller = caller;
    res.locals.headers.setAll(usageHeaders(usage));
    // An error about the request carries the caller's own limits, as everywhere.
    assertWellFormed(req);
    assertSmallBody(req);
    const body = {
      plan: caller.plan,
      minute: windowJson(minute, nowMs),
      day: windowJson(day, nowMs),
      bannedUntil: banMs > 0 ? wholeSecond(nowMs + banMs) : null,
    };
    sendJson(res, 200, res.locals.headers, JSON.stringify(body));
  }
}

function windowJson({ limit, used, remaining, resetMs }: UsedWindow, nowMs: number) {
  return { limit, used, remaining, resetsAt: wholeSecond(nowMs + resetMs) };
}

/** ISO 8601 in UTC, rounded up as X-RateLimit-Reset is. */
function wholeSecond(ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
