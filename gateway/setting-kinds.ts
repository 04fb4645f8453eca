import { isIP } from 'node:net';
import { z } from 'zod';
import { parseRedisUrl, redisUrlExamples } from './redis/redis-url.ts';

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
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
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
