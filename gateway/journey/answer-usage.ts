import type { Request, RequestHandler, Response } from 'express';
import type { ApiKeyCache } from '../api-keys/api-key-cache.ts';
import { withCurrentRecord } from '../api-keys/current-record.ts';
import { GatewayError } from '../errors.ts';
import { assertSmallBody } from '../http/request-body.ts';
import { sendJson } from '../http/send-response.ts';
import { assertWellFormed } from '../http/well-formed-request.ts';
import { usageHeaders } from '../quota/rate-limit-headers.ts';
import { usageBody } from '../quota/usage-body.ts';
import type { LookUpUsage } from '../quota/usage-lookup.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';
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
