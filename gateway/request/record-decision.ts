import type { Response } from 'express';
import type { Caller } from '../keys/api-key-cache.ts';
import { windowOverShadow, type Limits } from '../limits/limits.ts';
import { windows, type WindowState } from '../limits/windows.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import type { CurrentDecision, DecisionListener } from '../quota/quota-decision.ts';
import type { Quota } from '../quota/quota.ts';
import { rateLimitHeaders } from '../quota/rate-limit-headers.ts';
import type { UsageTotals } from '../quota/use-counts.ts';
import { callerOf, setDecision } from './request-context.ts';

interface RecordDecisionDependencies {
  /** What counts decisions beside the metrics. */
  decisionListeners: readonly DecisionListener[];
  metrics: Metrics;
  plans: { shadowLimitsOf(plan: string): Limits | undefined };
}

export type RecordDecision = (res: Response, ...decision: Parameters<DecisionListener>) => void;

/** Tells a decision to all that count it, and keeps it for later steps and for the access log. */
export function createRecordDecision(dependencies: RecordDecisionDependencies): RecordDecision {
  const { decisionListeners, metrics, plans } = dependencies;
  const listeners = [createDecisionMetrics(metrics), ...decisionListeners];
  return function recordDecision(res, caller, decision, cost) {
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
  };
}

/** Counts decisions for operators: refusals, keys near their limit, bans. */
function createDecisionMetrics(metrics: Metrics): DecisionListener {
  return function countDecision({ plan }: Caller, decision: CurrentDecision): void {
    switch (decision.outcome) {
      case 'allowed':
        for (const { name: window } of windows) {
          const state = decision.windows[window];
          if (state !== undefined && isNearLimit(state)) metrics.nearLimit.inc({ plan, window });
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

/** Whether a tenth of the window or less remains. */
function isNearLimit({ limit, remaining }: WindowState): boolean {
  return remaining * 10 <= limit;
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
