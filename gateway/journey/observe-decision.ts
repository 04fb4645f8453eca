import type { Metrics } from '../observability/metrics.ts';
import type { QuotaDecision, WindowState } from '../quota/quota-decision.ts';

/** Counts a decision for operators: refusals, keys near their limit, bans. */
export function observeDecision(metrics: Metrics, plan: string, decision: QuotaDecision): void {
  switch (decision.outcome) {
    case 'allowed':
      if (isNearLimit(decision.minute)) metrics.nearLimit.inc({ plan, window: 'minute' });
      if (isNearLimit(decision.day)) metrics.nearLimit.inc({ plan, window: 'day' });
      return;
    case 'limited':
      metrics.quotaRefusals.inc({ plan, window: decision.violated });
      return;
    case 'banned':
      metrics.bannedRequests.inc({ plan });
      if (decision.isNew) metrics.bans.inc({ plan });
      return;
    case 'stale':
  }
}

/** Whether a tenth of the window or less remains. */
function isNearLimit({ limit, remaining }: WindowState): boolean {
  return remaining * 10 <= limit;
}
