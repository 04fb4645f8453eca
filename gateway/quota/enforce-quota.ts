import type { RequestHandler } from 'express';
import { anyRev, type ApiKeys } from '../api-keys/api-keys.ts';
import { callerOf, lookupError } from '../api-keys/authenticate.ts';
import { GatewayError } from '../errors.ts';
import type { Quota } from './quota.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import type { RefuseAnonymous } from '../api-keys/refuse-anonymous.ts';

interface EnforceQuotaDependencies {
  apiKeys: ApiKeys;
  quota: Quota;
  refuseAnonymous: RefuseAnonymous;
}

/** A record that changes faster than it can be read: then the one just read has to do. */
const maxRereads = 3;

/** Counts the request against the caller's quotas and sends the rate headers; ends it where they are used up. */
export function enforceQuota({ apiKeys, quota, refuseAnonymous }: EnforceQuotaDependencies): RequestHandler {
  return async function enforceQuota(req, res, next) {
    let decision = await quota.decide(callerOf(res.locals));
    for (let rereads = 0; decision.outcome === 'stale'; rereads += 1) {
      // The record has changed since it was read: revoked, expired, on another plan or with other limits.
      const lookup = await apiKeys.reread(callerOf(res.locals).sha);
      if (lookup.outcome !== 'valid') {
        delete res.locals.caller;
        return refuseAnonymous(req, res, lookupError(lookup.outcome));
      }
      res.locals.caller = lookup.caller;
      const caller = rereads < maxRereads ? lookup.caller : { ...lookup.caller, rev: anyRev };
      decision = await quota.decide(caller);
    }
    res.locals.decision = decision.outcome;
    res.set(rateLimitHeaders(decision));
    switch (decision.outcome) {
      case 'allowed':
        return next();
      case 'limited':
        throw new GatewayError('rate_limit_exceeded', {
          message: `The limit of ${limitText(decision)} is used up. Retry after the time given in the Retry-After header.`,
        });
      case 'banned':
        throw new GatewayError('api_key_banned');
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
