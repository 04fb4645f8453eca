import type { RequestHandler } from 'express';
import type { ApiKeys, Caller } from '../api-keys/api-key-cache.ts';
import { withRereadRecord } from '../api-keys/current-record.ts';
import { GatewayError } from '../errors.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { BusyKeys } from '../quota/hot-keys.ts';
import type { CurrentDecision } from '../quota/quota-decision.ts';
import type { Quota } from '../quota/quota.ts';
import { rateLimitHeaders } from '../quota/rate-limit-headers.ts';
import { callerOf } from './authenticate.ts';
import { observeDecision } from './observe-decision.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';

interface EnforceQuotaDependencies {
  apiKeys: ApiKeys;
  quota: Quota;
  refuseAnonymous: RefuseAnonymous;
  busyKeys: BusyKeys;
  metrics: Metrics;
}

/** The same for all: to make one is dear, and banned clients may send a great many requests. */
const keyBanned = new GatewayError('api_key_banned');

/** Counts the request against the caller's quotas and sends the rate headers; ends it where they are used up. */
export function enforceQuota(dependencies: EnforceQuotaDependencies): RequestHandler {
  const { apiKeys, quota, refuseAnonymous, busyKeys, metrics } = dependencies;

  /** Undefined where it says that the caller's record is not the one in Redis. */
  async function decideOnCurrent(caller: Caller): Promise<CurrentDecision | undefined> {
    const decision = await quota.decide(caller);
    return decision.outcome === 'stale' ? undefined : decision;
  }

  return async function enforceQuota(req, res, next) {
    let caller = callerOf(res.locals);
    let decision = await quota.decide(caller);
    if (decision.outcome === 'stale') {
      const current = await withRereadRecord(apiKeys, caller, decideOnCurrent);
      if (current.outcome === 'refused') {
        delete res.locals.caller;
        return refuseAnonymous(req, res, current.error);
      }
      ({ caller, result: decision } = current);
      res.locals.caller = caller;
    }
    observeDecision(metrics, caller.plan, decision);
    busyKeys.note(caller.id, decision.outcome !== 'allowed');
    res.locals.decision = decision.outcome;
    res.locals.headers.setAll(rateLimitHeaders(decision));
    // Refusals are handed on, not thrown: V8's search for who catches them would be a sixth of a banned client's request.
    switch (decision.outcome) {
      case 'allowed':
        return next();
      case 'limited':
        return next(
          new GatewayError('rate_limit_exceeded', {
            message: `The limit of ${limitText(decision)} is used up. Retry after the time given in the Retry-After header.`,
          }),
        );
      case 'banned':
        return next(keyBanned);
    }
  };
}

function limitText({ violated, minute, day }: { violated: 'minute' | 'day' } & Windows): string {
  return violated === 'minute' ? `${minute.limit} requests a minute` : `${day.limit} requests a day`;
}

interface Windows {
  minute: { limit: number };
  day: { limit: number };
}
