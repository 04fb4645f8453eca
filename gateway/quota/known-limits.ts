import type { Caller } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import type { Limits } from '../limits/limits.ts';
import type { Plans } from '../plans/plans.ts';

/** @throws GatewayError service_unavailable if no limit is known for the caller's plan */
export function knownLimits(plans: Plans, caller: Caller): Limits {
  const limits = plans.limitsOf(caller);
  if (limits !== undefined) return limits;
  throw new GatewayError('service_unavailable', {
    message: 'The limits of this API key are not set up. Please contact the operator.',
    cause: `no limits known for key ${caller.id} on plan ${caller.plan}`,
  });
}
