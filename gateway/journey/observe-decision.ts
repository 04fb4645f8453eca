import type { WindowState } from '../limits/window-states.ts';
import { windows } from '../limits/windows.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { QuotaDecision } from '../quota/quota-decision.ts';

/** Counts a decision for operators: refusals, keys near their limit, bans. */
export function observeDecision(metrics: Metrics, plan: string, decision: QuotaDecision): void {
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
      return;
    case 'stale':
  }
}

/** Whether a tenth of the window or less remains. */
function isNearLimit({ limit, remaining }: WindowState): boolean {
  return remaining * 10 <= limit;
}
