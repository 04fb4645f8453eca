import { errorCodes } from '../errors.ts';
import { shadowField, type PlanLimits } from '../limits/limits.ts';
import { anonymousWindow } from '../limits/setting-fields.ts';
import { windowNames } from '../limits/windows.ts';
import type { Metrics } from '../platform/observability/metrics.ts';
import { anonymousPlan, enterprisePlan } from '../quota/plan-settings.ts';
import type { ApiDescription } from '../upstream/api-description.ts';

/** Plan in the labels of requests without a valid key. */
const noPlan = 'none';

/**
 * Shows series at 0 that are known before their first event: Prometheus sees no increase in a series that begins at 1, so
 * an alert or a graph would miss the first ban of a gateway, or the first minute of an outage.
 */
export function showKnownSeries(metrics: Metrics, api: ApiDescription): void {
  for (const code of errorCodes) metrics.errors.inc({ code }, 0);
  for (const limit of ['total', 'address']) metrics.refusedConnections.inc({ limit }, 0);
  metrics.requests.expect({ operations: api.operations, plan: noPlan });
  for (const service of api.services) metrics.upstreamSeconds.zero({ service });
  showKnownPlan(metrics, enterprisePlan);
}

/** Shows the limits in force of a plan, and what is counted of it. */
export function showPlanLimits(metrics: Metrics, plan: string, limits: PlanLimits): void {
  for (const window of windowNames) {
    const limit = limits[window];
    if (limit === undefined) metrics.planLimit.remove({ plan, window });
    else metrics.planLimit.set({ plan, window }, limit);
  }
  if (plan === anonymousPlan) showKnownAddresses(metrics);
  else showKnownPlan(metrics, plan, limits);
}

function showKnownAddresses(metrics: Metrics): void {
  metrics.quotaRefusals.inc({ plan: anonymousPlan, window: anonymousWindow }, 0);
  metrics.unauthenticatedRequests.inc({ plan: anonymousPlan }, 0);
}

/** The same for a plan that keys may have. */
function showKnownPlan(metrics: Metrics, plan: string, limits?: PlanLimits): void {
  metrics.requests.expect({ plan });
  for (const window of windowNames) {
    // Customers on enterprise may have a limit of any window.
    if (limits !== undefined && limits[window] === undefined) continue;
    for (const counter of [metrics.quotaRefusals, metrics.nearLimit]) {
      counter.inc({ plan, window }, 0);
    }
    if (limits?.[shadowField(window)] !== undefined) metrics.shadowRefusals.inc({ plan, window }, 0);
  }
  for (const counter of [metrics.bans, metrics.bannedRequests]) counter.inc({ plan }, 0);
}
