import type { RequestSpans } from '../observability/request-spans.ts';
import type { Quota } from './quota.ts';

/**
 * Records a span for each decision, with the time that it waits for Redis.
 * @param spans undefined if no traces are exported; then the quota stays as it is
 */
export function tracedQuota(quota: Quota, spans: RequestSpans | undefined): Quota {
  if (spans === undefined) return quota;
  return {
    async decide(caller, requestSpan) {
      if (requestSpan === undefined) return quota.decide(caller);
      const span = spans.startDecision(requestSpan);
      try {
        const decision = await quota.decide(caller, span);
        spans.endDecision(span, decision.outcome);
        return decision;
      } catch (error) {
        spans.endDecision(span, undefined, error);
        throw error;
      }
    },
  };
}
