import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { parseRedisUrl, redisUrlExamples } from './redis-url.ts';

/*
 * What a setting may look like. Each says of a value that can't be used what is wrong with it, in words that follow the
 * name of the setting.
 */

export const port = (standard: number) =>
  z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, {
      error: 'is not a port number from 0 to 65535',
    })
    .transform(Number)
    .default(standard);

/** A key that was put where the name of its file belongs. It must not be shown. */
export const isPem = (text: string) => text.includes('-----BEGIN');

/** A host or a path: nearly anything, but a blank one is a slip. */
export const text = z
  .string()
  .refine((text) => text.trim() !== '', { error: 'is blank' })
  .refine((text) => !isPem(text), { error: 'is a key and not the name of a file' });

/** What the resolver takes for an address though it is none in full: 0 is all interfaces, to everybody's surprise. */
const isShortAddress = (text: string) => /^(0x[\da-f]+|[\d.]+)$/i.test(text) && isIP(text) === 0;

export const host = text.refine((text) => !isShortAddress(text), 'is neither an IP address nor a name');

const wholeNumberOf =
  (unit: string) =>
  (standard: number, min = 1, max = 9_999_999) =>
    z
      .string()
      .refine((text) => /^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max, {
        error: `is not a whole number of ${unit} from ${min} to ${max}`,
      })
      .transform(Number)
      .default(standard);

export const milliseconds = wholeNumberOf('milliseconds');
export const bytes = wholeNumberOf('bytes');
export const workers = wholeNumberOf('workers');

export const count = (standard: number) =>
  z
    .string()
    .refine((text) => /^[1-9]\d{0,4}$/.test(text), { error: 'is not a whole number from 1 to 99999' })
    .transform(Number)
    .default(standard);

const url = (protocols: string[], example: string) =>
  z.string().refine(
    (text) => {
      const parsed = URL.parse(text);
      return parsed !== null && protocols.includes(parsed.protocol) && parsed.hostname !== '';
    },
    { error: `is not a URL such as ${example}`, abort: true },
  );

const origin = url(['http:', 'https:'], 'http://127.0.0.1:3001')
  .refine((text) => /^https?:\/\/[^/?#@]+\/?$/i.test(text), 'has more than a scheme, a host and a port')
  .refine((text) => new URL(text).port !== '0', 'has port 0, on which nobody can listen')
  .transform((text) => new URL(text).origin);

/** Each bad address has a fault of its own, which says where it is and not what it is. */
export const originList = z.string().transform((text, context) => {
  const parts = text.split(',').map((part) => part.trim());
  const origins: string[] = [];
  for (const [index, part] of parts.entries()) {
    const parsed = origin.safeParse(part);
    const faults = parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
    if (parsed.success && origins.includes(parsed.data)) faults.push('is there twice');
    if (parsed.success) origins.push(parsed.data);
    const place = parts.length === 1 ? '' : ` (address ${index + 1} of ${parts.length})`;
    for (const fault of faults) context.addIssue({ code: 'custom', message: `${fault}${place}` });
  }
  return origins;
});

const proxyNames = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** What proxy-addr understands; not a number of hops, which would trust any peer. */
function isProxy(text: string): boolean {
  return proxyNames.has(text) || isIP(text) !== 0 || isNetwork(text);
}

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^(.+)\/([1-9]\d{0,2})$/.exec(text) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return false;
  // In IPv6 notation, a network of IPv4 has 96 bits more. With just these it is all of IPv4, with fewer nothing at all.
  const isMapped = family === 6 && ipaddr.IPv6.parse(address).isIPv4MappedAddress();
  return !isMapped || Number(bits) > 96;
}

export const proxyList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every(isProxy),
    'is not a list of IP addresses, networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  )
  .default([]);

/** One of the forms of redis-url.ts. */
export const redisUrl = z.string().refine((text) => parseRedisUrl(text) !== undefined, {
  error: `is not a URL such as ${redisUrlExamples.join(' or ')}`,
});
