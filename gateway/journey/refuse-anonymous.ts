import type { Request, Response } from 'express';
import type { EndedKey } from '../api-keys/api-key-cache.ts';
import { GatewayError } from '../errors.ts';
import type { WindowName } from '../limits/windows.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AddressLimit } from '../quota/address-limit.ts';
import { addressLimitHeaders, refusal } from '../quota/rate-limit-headers.ts';
import { clientAddress, setDecision } from './request-context.ts';

/**
 * Refuses a request without a valid key: counts it against its address and throws the given error, or
 * rate_limit_exceeded if the address' limit is used up, so that keys can't be guessed at leisure.
 * @param key the key that the request came with, if it has ended
 */
export type RefuseAnonymous = (
  req: Request,
  res: Response,
  error: GatewayError,
  key?: EndedKey,
) => Promise<never>;

interface RefuseAnonymousDependencies {
  addressLimit: AddressLimit;
  metrics: Metrics;
  /** The limit of addresses: its plan, and the window that it has. */
  limit: { plan: string; window: WindowName };
  now: () => number;
}

export function createRefuseAnonymous(dependencies: RefuseAnonymousDependencies): RefuseAnonymous {
  const { addressLimit, metrics, limit, now } = dependencies;
  return async function refuseAnonymous(req, res, error, key) {
    const { headers } = res.locals;
    if (key !== undefined) res.locals.endedKey = key;
    if (error.status === 503) {
      // The key may be valid, so the limit is shown but nothing is counted.
      setDecision(res, 'undecided');
      headers.setAll(addressLimitHeaders(await addressLimit.peek(clientAddress(req)), now()));
      throw error;
    }
    const { allowed, window } = await addressLimit.charge(clientAddress(req));
    headers.setAll(addressLimitHeaders(window, now()));
    setDecision(res, allowed ? 'unauthenticated' : 'address_limited');
    if (!allowed) {
      metrics.quotaRefusals.inc(limit);
      throw new GatewayError('rate_limit_exceeded', {
        message: 'Too many requests without a valid API key from this address.',
        headers: refusal('ip', window.resetMs),
      });
    }
    metrics.unauthenticatedRequests.inc({ plan: limit.plan });
    // RFC 6750 section 3: a 401 names the scheme to use.
    if (error.status === 401) headers.set('WWW-Authenticate', 'Bearer');
    throw error;
  };
}
