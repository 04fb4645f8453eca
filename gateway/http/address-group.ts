import ipaddr from 'ipaddr.js';

/**
 * What shares one limit: an IPv4 address, or an IPv6 network of 56 bits, which access providers commonly assign to one
 * customer (RIPE-690).
 */
export function addressGroup(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const bytes = parsed.toByteArray().map((byte, index) => (index < 7 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/56`;
}
