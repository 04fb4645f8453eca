import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import ipaddr from 'ipaddr.js';

const maxUrlLength = 1000;

/**
 * The address of a webhook as the parser has read it: what is stored, shown and connected to is one and the same.
 * @param allowedNetworks that webhooks may lead to although they are not public, such as 10.0.0.0/8, also without TLS
 */
export function parseWebhookUrl(
  text: string,
  allowedNetworks: readonly string[],
): { url: string } | { issue: string } {
  const url = URL.parse(text);
  if (url === null || text.length > maxUrlLength || !/^https?:\/\/[^/]/i.test(text))
    return { issue: `is not a URL such as https://example.com/hook of up to ${maxUrlLength} characters` };
  if (url.username !== '' || url.password !== '')
    return { issue: 'has a user or a password: check the signature instead' };
  if (url.protocol === 'http:' && allowedNetworks.length === 0)
    return { issue: 'is not https, which WEBHOOK_ALLOWED_NETWORKS allows for its networks' };
  const host = hostOf(url);
  const issue = isIP(host) === 0 ? undefined : addressIssue(host, allowedNetworks, url.protocol);
  return issue === undefined ? { url: url.href } : { issue };
}

const hostOf = ({ hostname }: URL) => hostname.replaceAll(/[[\]]/g, '');

/** Global unicast addresses of IPv6 begin so (RFC 4291 section 2.4); all others have a special meaning. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/**
 * Public are addresses of global unicast: neither those of one's own machine or network, nor others with a special meaning
 * (IANA's registries), nor IPv6 addresses that lead to an IPv4 address (mapped, NAT64, 6to4, Teredo).
 */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(globalUnicast));
}

/** @returns why no webhook is sent to an IP address; undefined if it may be used */
export function addressIssue(
  text: string,
  allowedNetworks: readonly string[],
  protocol: string,
): string | undefined {
  if (!ipaddr.isValid(text)) return `resolves to ${text}, which is no address`;
  const address = ipaddr.process(text);
  if (allowedNetworks.some((network) => isWithin(address, network))) return undefined;
  if (!isPublic(address))
    return `leads to ${text}, which is not public (WEBHOOK_ALLOWED_NETWORKS allows networks)`;
  return protocol === 'https:' ? undefined : `leads to ${text} without TLS: use https`;
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: string): boolean {
  const [base, bits] = ipaddr.parseCIDR(
    network.includes('/') ? network : `${network}/${isIP(network) === 4 ? 32 : 128}`,
  );
  return base.kind() === address.kind() && address.match(base, bits);
}

/** A name that leads to no address that may be used. */
export class ForbiddenAddress extends Error {
  override name = 'ForbiddenAddress';
}

const dnsTimeoutMs = 2000;

/**
 * Asks DNS itself, by c-ares: getaddrinfo would occupy one of the few threads of the process for as long as a foreign server
 * likes. So the hosts file and search domains do not count.
 * @param servers those of the system if there are none
 */
export async function resolveAddresses(hostname: string, servers?: readonly string[]): Promise<string[]> {
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  const giveUp = setTimeout(() => resolver.cancel(), 2 * dnsTimeoutMs);
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    if (four.status === 'rejected' && six.status === 'rejected') throw four.reason;
    return [four, six].flatMap((found) => (found.status === 'fulfilled' ? found.value : []));
  } finally {
    clearTimeout(giveUp);
  }
}

/**
 * Addresses of a name that may be used.
 * @throws ForbiddenAddress if it leads to none of them; an error of DNS if it leads nowhere
 */
export async function resolveAllowed(
  hostname: string,
  allowedNetworks: readonly string[],
  protocol: string,
  resolve: (hostname: string) => Promise<string[]> = resolveAddresses,
): Promise<string[]> {
  const found = await resolve(hostname);
  const issues = found.map((address) => addressIssue(address, allowedNetworks, protocol));
  const allowed = found.filter((_address, index) => issues[index] === undefined);
  if (allowed.length === 0) throw new ForbiddenAddress(`${hostname} ${issues[0] ?? 'leads nowhere'}`);
  return allowed;
}

/** @returns why a webhook with this address is not made. A name that cannot be resolved now may be later. */
export async function hostIssue(href: string, allowedNetworks: readonly string[]) {
  const url = new URL(href);
  const host = hostOf(url);
  if (isIP(host) !== 0) return undefined;
  try {
    await resolveAllowed(host, allowedNetworks, url.protocol);
    return undefined;
  } catch (error) {
    return error instanceof ForbiddenAddress ? error.message : undefined;
  }
}

/**
 * Resolves names for connections, which go to the very addresses that were checked: a name that resolves to another one the next
 * time gets nowhere.
 */
export function createCheckedLookup(
  allowedNetworks: readonly string[],
  protocol: string,
  resolve?: (hostname: string) => Promise<string[]>,
): LookupFunction {
  const resolveWithCallback = callbackify((hostname: string) =>
    resolveAllowed(hostname, allowedNetworks, protocol, resolve),
  );
  return function lookup(hostname, options, callback) {
    resolveWithCallback(hostname, (error, addresses) => {
      const all = (addresses ?? []).map((address) => ({ address, family: isIP(address) }));
      const [first] = all;
      if (error !== null || options.all === true || first === undefined) callback(error, all);
      else callback(null, first.address, first.family);
    });
  };
}
