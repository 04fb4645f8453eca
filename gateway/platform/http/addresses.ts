import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv4, isIPv6, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { compile } from 'proxy-addr';
import { keyPattern } from '../config/key-prefix.ts';

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
interface FromPeer {
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

/**
 * Remembers what was found out about the latest addresses. A load balancer has a few; the rest are those that clients connect
 * from.
 */
function remembered<Value extends string | boolean>(find: (address: string) => Value) {
  const known = new LRUCache<string, Value>({ max: 10_000 });
  return function findRemembered(address: string): Value {
    let value = known.get(address);
    if (value === undefined) known.set(address, (value = find(address)));
    return value;
  };
}

/**
 * What shares one limit: an IPv4 address, or an IPv6 network of 56 bits, which access providers commonly assign to one
 * customer (RIPE-690).
 */
export function addressGroup(address: string): string {
  // Accepts the usual notation only, in which an address has one form.
  return isIPv4(address) ? address : groupOf(address);
}

/** Parsing an IPv6 address takes a tenth of the time of a request. */
const groupOf = remembered((address) => {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const bytes = parsed.toByteArray().map((byte, index) => (index < 7 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/56`;
});

/**
 * Tells whether an address belongs to a trusted proxy. If each step that asks parsed the same one again, that would be a
 * twentieth of a request behind a load balancer.
 * @param trusted addresses and networks in proxy-addr's notation
 */
export function createIsProxy(trusted: readonly string[]): (address: string) => boolean {
  if (trusted.length === 0) return () => false;
  const trusts = compile([...trusted]);
  return remembered((address) => trusts(address, 0));
}

type AddressedRequest = FromPeer & { headers: IncomingHttpHeaders };

/** Where clients see the gateway. */
export type PublicAddress = ReturnType<typeof createPublicAddress>;

/**
 * Uses PUBLIC_URL, or else the request's own scheme and Host, as far as trusted proxies report them.
 * @param publicUrl without a slash at the end
 */
export function createPublicAddress(publicUrl: string | undefined, isProxy: (address: string) => boolean) {
  return {
    /** The base URL if it is the same for every request, so that a shared cache may store what contains it. */
    fixed: publicUrl,
    /**
     * Base URL of the addresses in a response, without a slash at the end: `https://api.example.com`. Empty if the request
     * has no usable Host, so that addresses stay relative.
     */
    baseUrl(req: AddressedRequest): string {
      if (publicUrl !== undefined) return publicUrl;
      const host = reported(req, 'x-forwarded-host', isProxy) ?? req.headers.host ?? '';
      return isUsableHost(host) ? `${findScheme(req, isProxy)}://${host}` : '';
    },
  };
}

/** Scheme with which the client reached the gateway or the trusted proxy that ends TLS. */
export function findScheme(req: AddressedRequest, isProxy: (address: string) => boolean): 'http' | 'https' {
  return reported(req, 'x-forwarded-proto', isProxy)?.toLowerCase() === 'https' ? 'https' : 'http';
}

/** What a trusted proxy says. In a chain, the first value is that of the proxy next to the client. */
function reported(
  req: AddressedRequest,
  header: 'x-forwarded-host' | 'x-forwarded-proto',
  isProxy: (address: string) => boolean,
): string | undefined {
  const value = req.headers[header];
  if (value === undefined || !isProxy(peerAddress(req))) return undefined;
  return String(value).split(',', 1)[0]?.trim() || undefined;
}

/** Length of a DNS name (RFC 1035 section 2.3.4), a colon and a port. */
const maxHostLength = 253 + 6;

/** A DNS name or an IP address, and a port. Stricter than RFC 3986, whose names may hold commas and quotes. */
const hostPattern = /^(?:[a-z\d][\w-]*(?:\.[\w-]+)*\.?|\[([\da-f:.]+)\])(?::(\d{1,5}))?$/i;
const maxPort = 65_535;

function isUsableHost(host: string): boolean {
  if (host.length > maxHostLength || holdsApiKey(host)) return false;
  const [found, ipv6, port] = hostPattern.exec(host) ?? [];
  if (found === undefined || Number(port ?? 0) > maxPort) return false;
  return ipv6 === undefined || isIPv6(ipv6);
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Makes the paths in Link and Location absolute: many clients cannot follow a relative Link. Other headers, and addresses
 * that are not paths of this server, stay as they are.
 * @param headers with names in lower case
 * @param baseUrl called only if one of the two headers is present
 */
export function absoluteAddresses(headers: Headers, baseUrl: () => string): Headers {
  const { link, location } = headers;
  if (link === undefined && location === undefined) return headers;
  const base = baseUrl();
  if (base === '') return headers;
  const changed: Record<string, string | string[] | undefined> = { ...headers };
  if (link !== undefined) changed['link'] = mapValue(link, (value) => absoluteLinks(value, base));
  if (location !== undefined) changed['location'] = mapValue(location, (value) => absolutePath(value, base));
  return changed;
}

function mapValue(value: string | string[], map: (value: string) => string): string | string[] {
  return Array.isArray(value) ? value.map(map) : map(value);
}

/** A quoted parameter, whose content is not a target, or a target (RFC 8288 section 3). Each character is read once. */
const quotedOrTarget = /"(?:[^"\\]|\\.)*"?|<([^<>]*)>/g;

function absoluteLinks(value: string, base: string): string {
  return value.replaceAll(quotedOrTarget, (found: string, target: string | undefined) =>
    target === undefined ? found : `<${absolutePath(target, base)}>`,
  );
}

/** `//host/path` is no path of this server (RFC 3986 section 4.2). */
function absolutePath(reference: string, base: string): string {
  return reference.startsWith('/') && !reference.startsWith('//') ? base + reference : reference;
}

const apiKey = keyPattern(/[0-9A-Za-z]{38}/);

/** Whether a text holds what looks like an API key. One that is sent in the wrong header must not be logged or returned. */
export function holdsApiKey(text: string): boolean {
  return apiKey().test(text);
}
