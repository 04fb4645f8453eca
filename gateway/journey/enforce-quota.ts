import type { RequestHandler } from 'express';
import type { ApiKeyCache, Caller } from '../api-keys/api-key-cache.ts';
import { withRereadRecord } from '../api-keys/current-record.ts';
import { GatewayError } from '../errors.ts';
import { windowOf } from '../limits/windows.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { HotKeys } from '../quota/hot-keys.ts';
import type { CurrentDecision } from '../quota/quota-decision.ts';
import type { Quota } from '../quota/quota.ts';
import { rateLimitHeaders } from '../quota/rate-limit-headers.ts';
import { refusalReason } from '../quota/refusal-runs.ts';
import type { UsageReports } from '../quota/usage-reports.ts';
import { observeDecision } from './observe-decision.ts';
import type { RefuseAnonymous } from './refuse-anonymous.ts';
import { callerOf, setDecision } from './request-context.ts';

interface EnforceQuotaDependencies {
  apiKeys: ApiKeyCache;
  quota: Quota;
  refuseAnonymous: RefuseAnonymous;
  hotKeys: HotKeys;
  usageReports: Pick<UsageReports, 'addRefused'>;
  metrics: Metrics;
}

/** One error for all requests that a gateway's own ban refuses, of which there may be very many. */
const keyBanned = new GatewayError('api_key_banned');

/** Counts the request against the caller's quotas and sets the rate limit headers. Refuses it if a quota is used up. */
export function enforceQuota(dependencies: EnforceQuotaDependencies): RequestHandler {
  const { apiKeys, quota, refuseAnonymous, hotKeys, usageReports, metrics } = dependencies;

  /** @returns undefined if the caller's record is stale */
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
        return refuseAnonymous(req, res, current.error, current.key);
      }
      ({ caller, result: decision } = current);
      res.locals.caller = caller;
    }
    observeDecision(metrics, caller.plan, decision);
    hotKeys.count(caller, decision.outcome !== 'allowed');
    if (decision.outcome !== 'allowed') {
      usageReports.addRefused(caller.keyHash, refusalReason(decision), decision.nowMs);
    }
    setDecision(res, decision.outcome);
    res.locals.headers.setAll(rateLimitHeaders(decision));
    // Errors are passed to next and not thrown: V8's unwinding would be a sixth of a banned client's request.
    switch (decision.outcome) {
      case 'allowed':
        return next();
      case 'limited':
        return next(
          new GatewayError('rate_limit_exceeded', {
            message: `The limit of ${describeLimit(decision)} is used up. Retry after the time given in the Retry-After header.${banWarning(decision)}`,
          }),
        );
      case 'banned':
        return next(decision.reason === undefined ? keyBanned : bannedByOperator(decision.reason));
    }
  };
}

function bannedByOperator(reason: string): GatewayError {
  return new GatewayError('api_key_banned', {
    message: `An operator has banned this API key: ${reason}. Wait for Retry-After.`,
  });
}

function banWarning({ strikesLeft }: Extract<CurrentDecision, { outcome: 'limited' }>): string {
  return strikesLeft ? ` ${strikesLeft} more requests before that lead to a ban.` : '';
}

function describeLimit({ violated, windows }: Extract<CurrentDecision, { outcome: 'limited' }>): string {
  return `${windows[violated]?.limit} requests ${windowOf(violated).each}`;
}
