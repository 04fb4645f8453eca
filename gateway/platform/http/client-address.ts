import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv4, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { compile } from 'proxy-addr';

/**
 * Finds the address of the client as far as trusted proxies report it in X-Forwarded-For, whose last entry is of the
 * nearest proxy. An entry that is no address ends the search: the hop that reported it stands for all behind it.
 * @param isProxy whether an address belongs to a trusted proxy
 */
export function findClientAddress(
  req: FromPeer & { headers: IncomingHttpHeaders },
  isProxy: (address: string) => boolean,
): string {
  let address = peerAddress(req);
  if (!isProxy(address)) return address;
  const { 'x-forwarded-for': header = '' } = req.headers;
  const entries = String(header).split(',');
  for (const entry of entries.toReversed()) {
    // RFC 9110 section 5.6.1: empty elements of a list are ignored.
    if (entry.trim() === '') continue;
    const reported = parseEntry(entry.trim());
    if (reported === undefined) break;
    address = reported;
    if (!isProxy(address)) break;
  }
  return address;
}

/** An address in brackets with or without a port, or one that ends as IPv4 does, with a port. */
const decorated = /^\[([^\]]*)\](?::\d{1,5})?$|^(.*\.\d{1,3}):\d{1,5}$/;

/** Azure, HAProxy and others add a port, and then brackets to an IPv6 address. */
function parseEntry(entry: string): string | undefined {
  const [, inBrackets, withPort] = decorated.exec(entry) ?? [];
  const address = inBrackets ?? withPort ?? entry;
  return isIP(address) === 0 ? undefined : address.split('%')[0];
}

/** A request, as far as its connection tells where it is from. */
export interface FromPeer {
  socket: Pick<Socket, 'remoteAddress'>;
}

/**
 * Address of the peer that the connection is from, without the zone of a link-local one, which means something on this machine only
 * (RFC 4007 section 11). An IPv4 address that came in over IPv6 is written as IPv4.
 */
export function peerAddress({ socket }: FromPeer): string {
  const address = socket.remoteAddress ?? '';
  return address.includes(':') ? address.replace(/^::ffff:(?=\d+\.)|%.*/i, '') : address;
}

/** Groups of the latest IPv6 addresses: parsing one takes a tenth of the time of a request. */
const groups = new LRUCache<string, string>({ max: 10_000 });

/**
 * What shares one limit: an IPv4 address, or an IPv6 network of 56 bits, which access providers commonly assign to one
 * customer (RIPE-690).
 */
export function addressGroup(address: string): string {
  // Accepts the usual notation only, in which an address has one form.
  if (isIPv4(address)) return address;
  let group = groups.get(address);
  if (group === undefined) {
    group = parseGroup(address);
    groups.set(address, group);
  }
  return group;
}

function parseGroup(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const bytes = parsed.toByteArray().map((byte, index) => (index < 7 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/56`;
}

/** A load balancer has a few addresses; the rest are those that clients connect from. */
const maxAddresses = 10_000;

/**
 * Tells whether an address belongs to a trusted proxy. Remembers the latest addresses: if each step that asks parsed the
 * same one again, that would be a twentieth of a request behind a load balancer.
 * @param trusted addresses and networks in proxy-addr's notation
 */
export function createIsProxy(trusted: readonly string[]): (address: string) => boolean {
  if (trusted.length === 0) return () => false;
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
