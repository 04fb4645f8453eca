import { GatewayError } from '../errors.ts';
import type { ApiKeyLookup, EndedKey } from './api-key-cache.ts';

/** @returns the key of a look-up that has ended, as far as it has one */
export function endedKey(lookup: ApiKeyLookup): EndedKey | undefined {
  return 'key' in lookup ? lookup.key : undefined;
}

/** The error that a caller without a valid key gets. */
export function lookupError(outcome: Exclude<ApiKeyLookup['outcome'], 'valid'>): GatewayError {
  switch (outcome) {
    case 'unknown':
      return new GatewayError('unknown_api_key');
    case 'expired':
      return new GatewayError('expired_api_key');
    case 'revoked':
      return new GatewayError('revoked_api_key');
    case 'suspended':
      return new GatewayError('account_suspended');
    case 'unavailable':
      return new GatewayError('service_unavailable', { headers: { 'Retry-After': '1' } });
  }
}
