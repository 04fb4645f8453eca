import type { RequestHandler } from 'express';
import { GatewayError } from '../errors.ts';
import type { AddressBlocks } from '../quota/address-blocks.ts';
import { addressLimitHeaders, refusal } from '../quota/rate-limit-headers.ts';
import type { ObserveAddressRefusal } from './observe-address-refusal.ts';
import { clientAddress, setDecision } from './request-context.ts';

interface RefuseBlockedDependencies {
  addressBlocks: AddressBlocks;
  /** Requests a minute and address without a valid key. */
  limit: () => number;
  observeAddressRefusal: ObserveAddressRefusal;
  now: () => number;
}

/**
 * Refuses every request of an address that an operator has blocked, with or without a key: a block is for an emergency, and
 * a key that a flood comes with is looked up in Redis.
 */
export function refuseBlocked(dependencies: RefuseBlockedDependencies): RequestHandler {
  const { addressBlocks, limit, observeAddressRefusal, now } = dependencies;
  return function refuseBlocked(req, res, next) {
    if (addressBlocks.isEmpty()) return next();
    const address = clientAddress(req);
    const resetMs = addressBlocks.remainingMs(address);
    if (resetMs === undefined) return next();
    setDecision(res, 'address_blocked');
    observeAddressRefusal(address, 'blocked');
    res.locals.headers.setAll(addressLimitHeaders({ limit: limit(), remaining: 0, resetMs }, now()));
    throw new GatewayError('address_blocked', { headers: refusal('ip', resetMs) });
  };
}
