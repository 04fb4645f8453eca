import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { peerAddress, type FromPeer } from './peer-address.ts';

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
