import { addressGroup } from '../http/address-group.ts';
import type { WindowName } from '../limits/windows.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { AddressRefusal, BusyAddresses } from '../quota/busy-addresses.ts';

/** Counts a refused request of an address for operators. */
export type ObserveAddressRefusal = (address: string, refusal: AddressRefusal) => void;

interface ObserveAddressRefusalDependencies {
  metrics: Metrics;
  busyAddresses: BusyAddresses;
  /** The limit of addresses: its plan, and the window that it has. */
  limit: { plan: string; window: WindowName };
}

export function createObserveAddressRefusal(
  dependencies: ObserveAddressRefusalDependencies,
): ObserveAddressRefusal {
  const { metrics, busyAddresses, limit } = dependencies;
  const { plan } = limit;
  return function observeAddressRefusal(address, refusal) {
    busyAddresses.count(addressGroup(address), refusal);
    switch (refusal) {
      case 'unauthenticated':
        metrics.unauthenticatedRequests.inc({ plan });
        return;
      case 'limited':
        metrics.quotaRefusals.inc(limit);
        return;
      case 'blocked':
        metrics.blockedRequests.inc({ plan });
    }
  };
}
