import type { Request, RequestHandler, Response } from 'express';
import type { ApiKeys } from '../api-keys/api-key-cache.ts';
import { withCurrentRecord } from '../api-keys/current-record.ts';
import { sendJson } from '../http/send-response.ts';
import { usageHeaders } from '../quota/rate-limit-headers.ts';
import type { LookUpUsage } from '../quota/usage-lookup.ts';
import type { UsedWindow } from '../quota/usage.ts';
import { callerOf } from './authenticate.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';
import { assertSmallBody, assertWellFormed } from './reject-request.ts';

interface AnswerUsageDependencies {
  /** Such as /v1/usage. */
  path: string;
  apiKeys: ApiKeys;
  lookUpUsage: LookUpUsage;
  refuseAnonymous: RefuseAnonymous;
}

/** GET: tells a client its plan and what it has used. Costs no quota, so that it can be asked for even after a 429. */
export function answerUsage(dependencies: AnswerUsageDependencies): RequestHandler {
  const { path, apiKeys, lookUpUsage, refuseAnonymous } = dependencies;
  return function answerUsage(req, res, next) {
    if (req.path !== path || (req.method !== 'GET' && req.method !== 'HEAD')) return next();
    return answer(req, res);
  };

  async function answer(req: Request, res: Response): Promise<void> {
    res.locals.decision = 'free';
    const current = await withCurrentRecord(apiKeys, callerOf(res.locals), lookUpUsage);
    if (current.outcome === 'refused') {
      delete res.locals.caller;
      return refuseAnonymous(req, res, current.error);
    }
    const { caller, result: usage } = current;
    const { minute, day, banMs, nowMs } = usage;
    res.locals.caller = caller;
    res.locals.headers.setAll(usageHeaders(usage));
    // What is wrong with the request is told with the caller's own limits, as everywhere.
    assertWellFormed(req);
    assertSmallBody(req);
    const shown = {
      plan: caller.plan,
      minute: shownWindow(minute, nowMs),
      day: shownWindow(day, nowMs),
      bannedUntil: banMs > 0 ? wholeSecond(nowMs + banMs) : null,
    };
    sendJson(res, 200, res.locals.headers, JSON.stringify(shown));
  }
}

function shownWindow({ limit, used, remaining, resetMs }: UsedWindow, nowMs: number) {
  return { limit, used, remaining, resetsAt: wholeSecond(nowMs + resetMs) };
}

/** ISO 8601 in UTC, rounded up as X-RateLimit-Reset is. */
function wholeSecond(ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');
}
