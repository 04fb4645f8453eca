import type { RequestHandler, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../errors.ts';
import type { ApiKeyCache, Caller } from '../keys/api-key-cache.ts';
import { withRereadRecord } from '../keys/current-record.ts';
import { missingScopes } from '../keys/records.ts';
import { windowOverShadow, type Limits } from '../limits/limits.ts';
import { windowNames, windowOf, windows, type WindowName, type WindowStates } from '../limits/windows.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { CurrentDecision, DecisionListener, Limited } from '../quota/quota-decision.ts';
import type { Quota } from '../quota/quota.ts';
import { rateLimitHeaders } from '../quota/rate-limit-headers.ts';
import type { UsageTotals } from '../quota/use-counts.ts';
import { operationOf, type OperationAccess } from '../upstream/routes.ts';
import type { RefuseAnonymous } from './authenticate.ts';
import { callerOf, isUnrestrictedInPage, isUpgrade, setDecision } from './begin.ts';

interface EnforceQuotaDependencies {
  apiKeys: ApiKeyCache;
  quota: Quota;
  refuseAnonymous: RefuseAnonymous;
  /** What counts decisions beside the metrics. */
  decisionListeners: readonly DecisionListener[];
  metrics: Metrics;
  plans: { shadowLimitsOf(plan: string): Limits | undefined };
}

/** One error for all requests that a ban refuses, of which there may be very many: by the reason of an operator's ban. */
const keyBanned = new GatewayError('api_key_banned');
const bannedByOperator = new LRUCache<string, GatewayError>({
  max: 100,
  memoMethod: (reason) =>
    new GatewayError('api_key_banned', {
      message: `An operator has banned this API key: ${reason}. Wait for Retry-After.`,
    }),
});

/** What a request asks of its key if there is no such operation, or it is the gateway's own. */
const noAccess: OperationAccess = { scopes: [], cost: 1 };

/**
 * Counts what the request costs against the caller's quotas, and sets the rate limit headers. Refuses it if a quota has less
 * left, or if the key lacks a scope. Scopes come second: only the decision confirms that the record is current.
 */
export function enforceQuota(dependencies: EnforceQuotaDependencies): RequestHandler {
  const { apiKeys, quota, refuseAnonymous, metrics, plans } = dependencies;
  const listeners = [createDecisionMetrics(metrics), ...dependencies.decisionListeners];

  /** Tells a decision to all that count it, and keeps it for later steps and for the access log. */
  function recordDecision(res: Response, caller: Caller, decision: CurrentDecision, cost: number): void {
    for (const listener of listeners) listener(caller, decision, cost);
    const { locals } = res;
    if (decision.outcome === 'allowed') {
      locals.charged = { cost, decision };
      const shadow = decision.isLocal ? undefined : plans.shadowLimitsOf(caller.plan);
      if (shadow !== undefined) {
        const window = windowOverShadow(decision.windows, shadow, caller);
        if (window !== undefined) metrics.shadowRefusals.inc({ plan: caller.plan, window });
        locals.shadow = window;
      }
    }
    setDecision(res, decision.outcome);
  }

  /** @returns undefined if the caller's record is stale */
  async function decideOnCurrent(caller: Caller, cost: number): Promise<CurrentDecision | undefined> {
    const decision = await quota.decide(caller, cost);
    return decision.outcome === 'stale' ? undefined : decision;
  }

  return async function enforceQuota(req, res, next) {
    const access = accessOf(res);
    let caller = callerOf(res.locals);
    let forbidden = whyForbidden(caller, access, res);
    let cost = costOf(access, forbidden);
    let decision = await quota.decide(caller, cost);
    if (decision.outcome === 'stale') {
      const current = await withRereadRecord(apiKeys, caller, (current) =>
        decideOnCurrent(current, costOf(access, whyForbidden(current, access, res))),
      );
      if (current.outcome === 'refused') {
        delete res.locals.caller;
        return refuseAnonymous(req, res, current.error, current.key);
      }
      ({ caller, result: decision } = current);
      res.locals.caller = caller;
      forbidden = whyForbidden(caller, access, res);
      cost = costOf(access, forbidden);
    }
    recordDecision(res, caller, decision, cost);
    const tooSmall = decision.outcome === 'limited' ? windowBelow(decision.windows, cost) : undefined;
    if (decision.outcome === 'limited' && tooSmall !== undefined) {
      // Without Retry-After: no retry can succeed.
      res.locals.headers.setAll(rateLimitHeaders({ ...decision, outcome: 'allowed' }));
      const limit = limitInWords(decision.windows, tooSmall);
      const message = `The request costs ${cost}, more than the limit of ${limit}: this API key can never make it.`;
      return next(new GatewayError('cost_exceeds_limit', { message }));
    }
    res.locals.headers.setAll(rateLimitHeaders(decision));
    // Errors are passed to next and not thrown: V8's unwinding would be a sixth of a banned client's request.
    switch (decision.outcome) {
      case 'allowed':
        return next(forbidden);
      case 'limited':
        return next(refused(decision, cost));
      case 'banned':
        return next(decision.reason === undefined ? keyBanned : bannedByOperator.memo(decision.reason));
    }
  };
}

/** What follows the handshake of a WebSocket may be anything. */
function accessOf({ req, locals }: Response): OperationAccess {
  const service = locals.route?.service;
  return (isUpgrade(req, locals) ? service?.others : operationOf(service, req.method)) ?? noAccess;
}

/** A request that is forbidden costs one unit, like any other that its service does not get. */
function costOf({ cost }: OperationAccess, forbidden: GatewayError | undefined): number {
  return forbidden === undefined ? cost : 1;
}

function whyForbidden(
  caller: Caller,
  { scopes }: OperationAccess,
  { locals }: Response,
): GatewayError | undefined {
  if (isUnrestrictedInPage(locals, caller)) return new GatewayError('unrestricted_key');
  const missing = missingScopes(scopes, caller.scopes);
  if (missing.length === 0) return undefined;
  return new GatewayError('insufficient_scope', {
    message: `This API key lacks the scope ${missing.join(' and ')}, which the operation needs.`,
    // RFC 6750 section 3.1.
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scopes.join(' ')}"` },
  });
}

function refused({ windows: states, violated, strikesLeft }: Limited, units: number): GatewayError {
  const limit = limitInWords(states, violated);
  const reason =
    units === 1
      ? `The limit of ${limit} is used up.`
      : `The request costs ${units}, and ${states[violated]?.remaining} are left of the limit of ${limit}.`;
  const warning = strikesLeft ? ` ${strikesLeft} more requests before that lead to a ban.` : '';
  return new GatewayError('rate_limit_exceeded', {
    message: `${reason} Retry after the time given in the Retry-After header.${warning}`,
  });
}

/** The first window that allows less than a request costs. */
const windowBelow = (states: WindowStates, units: number) =>
  windowNames.find((name) => (states[name]?.limit ?? Infinity) < units);

function limitInWords(states: WindowStates, name: WindowName): string {
  return `${states[name]?.limit} requests ${windowOf(name).each}`;
}

/** Counts decisions for operators: refusals, keys near their limit, bans. */
function createDecisionMetrics(metrics: Metrics): DecisionListener {
  return function countDecision({ plan }: Caller, decision: CurrentDecision): void {
    switch (decision.outcome) {
      case 'allowed':
        for (const { name: window } of windows) {
          const state = decision.windows[window];
          // A tenth or less remains.
          if (state !== undefined && state.remaining * 10 <= state.limit)
            metrics.nearLimit.inc({ plan, window });
        }
        return;
      case 'limited':
        metrics.quotaRefusals.inc({ plan, window: decision.violated });
        return;
      case 'banned':
        metrics.bannedRequests.inc({ plan });
        if (decision.isNew) metrics.bans.inc({ plan });
    }
  };
}

/**
 * Gives back what a request has cost to which the gateway fails to get a response, and corrects the rate limit headers. Never rejects.
 */
export type GiveBack = (res: Response) => Promise<void>;

export function createGiveBack(dependencies: {
  quota: Pick<Quota, 'giveBack'>;
  usageTotals: Pick<UsageTotals, 'takeBack'>;
}): GiveBack {
  const { quota, usageTotals } = dependencies;
  return async function giveBack({ locals }) {
    if (locals.charged === undefined) return;
    const { cost, decision } = locals.charged;
    const caller = callerOf(locals);
    const current = await quota.giveBack(caller, cost, decision);
    if (current === undefined) return;
    usageTotals.takeBack(caller, cost);
    locals.headers.setAll(rateLimitHeaders(current));
  };
}
