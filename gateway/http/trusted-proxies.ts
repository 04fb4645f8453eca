import { LRUCache } from 'lru-cache';
import { compile } from 'proxy-addr';

/** A load balancer has a few addresses; the rest are those that clients connect from. */
const maxAddresses = 10_000;

/**
 * Tells whether an address belongs to a trusted proxy. Remembers the latest addresses: if each step that asks parsed the
 * same one again, that would be a twentieth of a request behind a load balancer.
 * @param trusted addresses and networks in proxy-addr's notation
 */
export function createIsProxy(trusted: readonly string[]): (address: string) => boolean {
  const trusts = compile([...trusted]);
  const known = new LRUCache<string, boolean>({ max: maxAddresses });
  return function isProxy(address) {
    let answer = known.get(address);
    if (answer === undefined) {
      answer = trusts(address, 0);
      known.set(address, answer);
    }
    return answer;
  };
}
