import { lookup as resolve } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Which addresses webhooks may have. */
export interface WebhookRules {
  /** Whether `http:` is allowed besides `https:`. */
  allowHttp: boolean;
  /** Networks that webhooks of operators may lead to although they are not public, such as 10.0.0.0/8. */
  allowedNetworks: readonly string[];
  /** The same for webhooks of customers. */
  customerNetworks: readonly string[];
  /** Whether redirects are followed that keep method and body (RFC 9110 sections 15.4.8 and 15.4.9). */
  followRedirects: boolean;
}

/** Rules for the webhooks of one owner. */
export type AddressRules = Omit<WebhookRules, 'customerNetworks'>;

export function rulesOfCustomers({ customerNetworks, ...rules }: WebhookRules): AddressRules {
  return { ...rules, allowedNetworks: customerNetworks };
}

const maxUrlLength = 1000;

/** @returns what is wrong with the URL of a webhook; undefined if it may be used, as far as its host is no name */
export function webhookUrlIssue(
  text: string,
  rules: Omit<AddressRules, 'followRedirects'>,
): string | undefined {
  const url = URL.parse(text);
  if (url === null || text.length > maxUrlLength || !/^https?:\/\/[^/]/i.test(text)) {
    return `is not a URL such as https://example.com/hook of up to ${maxUrlLength} characters`;
  }
  if (url.protocol === 'http:' && !rules.allowHttp) return 'is not https (WEBHOOK_ALLOW_HTTP allows http)';
  if (url.username !== '' || url.password !== '')
    return 'has a user or a password: check the signature instead';
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  return isIP(host) === 0 ? undefined : addressIssue(host, rules);
}

/** @returns where a redirect leads, or why it is not followed; undefined for a status that is no redirect */
export function redirectOf(
  url: string,
  { status, location }: { status: number; location: unknown },
  rules: AddressRules,
): { url: string } | { issue: string } | undefined {
  if (status < 300 || status >= 400) return undefined;
  if (!rules.followRedirects) return { issue: 'redirects are not followed' };
  if (status !== 307 && status !== 308) {
    return { issue: `redirects with status ${status} are not followed: use 307 or 308, which keep the POST` };
  }
  const target = typeof location === 'string' ? URL.parse(location, url) : null;
  if (target === null) return { issue: 'the redirect leads to no address' };
  const issue = webhookUrlIssue(target.href, rules);
  return issue === undefined ? { url: target.href } : { issue: `the address of the redirect ${issue}` };
}

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
  { allowedNetworks }: Pick<AddressRules, 'allowedNetworks'>,
): string | undefined {
  if (!ipaddr.isValid(text)) return `resolves to ${text}, which is no address`;
  const address = ipaddr.process(text);
  const isAllowed = allowedNetworks.some((network) => isWithin(address, network));
  if (isAllowed || isPublic(address)) return undefined;
  return `leads to ${text}, which is not public (WEBHOOK_ALLOWED_NETWORKS allows networks, and WEBHOOK_CUSTOMER_NETWORKS for webhooks of customers)`;
}

/** An issue in words for customers: without settings, and without where a name of the gateway's network leads. */
export const issueForCustomers = (issue: string): string =>
  issue
    .replace(/leads to \S+, which is not public/, 'leads to an address that is not public')
    .replace(/ \(WEBHOOK_[^)]+\)/, '');

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

/**
 * Resolves names for connections, which go to the very addresses that were checked: a name that resolves to another one the next
 * time gets nowhere.
 */
export function createCheckedLookup(
  rules: Pick<AddressRules, 'allowedNetworks'>,
  lookUp = resolve,
): LookupFunction {
  return function lookup(hostname, options, callback) {
    lookUp(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => addressIssue(address, rules) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const issue = found.map(({ address }) => addressIssue(address, rules))[0] ?? 'leads nowhere';
        return callback(new ForbiddenAddress(`${hostname} ${issue}`), []);
      }
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
