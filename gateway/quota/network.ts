import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address, or a network in CIDR notation. */
export interface Network {
  /** Its one notation: an address without a prefix length, or the first address of a network with it. */
  name: string;
  /** @param address any text; what is no address is in no network */
  contains(address: string): boolean;
}

/** A shorter prefix is more likely a slip than a network that somebody means. */
const minimumPrefix = { ipv4: 8, ipv6: 16 };

/** @returns what is wrong with the text, if it is no address and no network */
export function parseNetwork(text: string): Network | { issue: string } {
  const [base = '', prefix, ...more] = text.split('/');
  const isPrefix = prefix === undefined || /^(0|[1-9]\d{0,2})$/.test(prefix);
  // The library also accepts 10.1 and 0x7f.1.
  if (isIP(base) === 0 || base.includes('%') || !isPrefix || more.length > 0) {
    return { issue: 'is not an IP address or a network such as 203.0.113.0/24 or 2001:db8::/56' };
  }
  const first = ipaddr.parse(base);
  const kind = first.kind();
  const bits = kind === 'ipv4' ? 32 : 128;
  const length = prefix === undefined ? bits : Number(prefix);
  if (first instanceof ipaddr.IPv6 && first.isIPv4MappedAddress()) {
    return { issue: `has to be written as IPv4: ${first.toIPv4Address().toString()}` };
  }
  if (length < minimumPrefix[kind] || length > bits) {
    return { issue: `needs a prefix length from ${minimumPrefix[kind]} to ${bits}` };
  }
  const network = networkAddress(first, length);
  const name = length === bits ? network : `${network}/${length}`;
  if (network !== first.toString()) return { issue: `is an address within a network: did you mean ${name}` };
  return {
    name,
    contains(address) {
      if (!ipaddr.isValid(address)) return false;
      const parsed = ipaddr.process(address);
      return parsed.kind() === kind && parsed.match(first, length);
    },
  };
}

function networkAddress(address: ipaddr.IPv4 | ipaddr.IPv6, length: number): string {
  const bytes = address.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, length - 8 * index));
    return byte & (0xff << (8 - kept));
  });
  return ipaddr.fromByteArray(bytes).toString();
}
