import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { parseRedisUrl, redisUrlExamples } from './redis-url.ts';

/*
 * Settings of the gateway alone, as schemas. The message of each says what is wrong with a value, and follows the name of
 * the setting.
 */

const url = (protocols: string[], example: string) =>
  z.string().refine(
    (text) => {
      const parsed = URL.parse(text);
      return parsed !== null && protocols.includes(parsed.protocol) && parsed.hostname !== '';
    },
    { error: `is not a URL such as ${example}`, abort: true },
  );

/** A scheme, a host and a port; neither a wildcard nor the port 0, which no server has. */
const isOrigin = (text: string) =>
  /^https?:\/\/[^/?#@*]+\/?$/i.test(text) && (URL.parse(text)?.port ?? '0') !== '0';

/** Texts, separated by commas. */
const list = z.string().transform((text) => text.split(',').map((part) => part.trim()));

const originIssue = 'with a scheme, a host and a port alone, such as';
const originOf = (text: string) => new URL(text).origin;

/** Origin of an instance of a service, or of the console behind a proxy that ends TLS. */
export const origin = z
  .string()
  .refine(isOrigin, `is not a URL ${originIssue} http://127.0.0.1:3001`)
  .transform(originOf);

/** Origins, separated by commas. The issue does not repeat them: an address may hold a password. */
export const originList = list
  .refine((parts) => parts.every(isOrigin), `is not a list of URLs ${originIssue} http://127.0.0.1:3001`)
  .transform((parts) => parts.map(originOf));

/** Origins of pages that may use the API, separated by commas, or an asterisk for all. */
export const pageOrigins = list
  .refine(
    (parts) => parts.join() === '*' || parts.every(isOrigin),
    `is neither * nor a list of URLs ${originIssue} https://app.example.com`,
  )
  .transform((parts) => (parts.join() === '*' ? ('*' as const) : parts.map(originOf)))
  .default([]);

/** Base URL under which clients reach the gateway, without a slash at the end. A proxy may add a path before that of the API. */
export const publicUrl = url(['http:', 'https:'], 'https://api.example.com')
  .refine((text) => !/[?#@]/.test(text), 'has more than a scheme, a host, a port and a path')
  .transform((text) => new URL(text).href.replace(/(?<!\/)\/+$/, ''));

/** Where clients find help: a page, or an address for mail. */
export const supportUrl = z
  .string()
  .refine(
    (text) => /^(?:https?:\/\/[^/\s@]+(?:\/|$)|mailto:[^\s@?]+@[^\s@?]+$)/i.test(text) && URL.canParse(text),
    {
      error: 'is not a URL such as https://example.com/support or mailto:support@example.com',
    },
  )
  .transform((text) => new URL(text).href);

const proxyNames = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** Whether proxy-addr accepts the text. A number of hops is refused, since it would trust any peer. */
function isProxy(text: string): boolean {
  return proxyNames.has(text) || isIP(text) !== 0 || isNetwork(text);
}

function isNetwork(text: string): boolean {
  const [, address = '', bits] = /^(.+)\/([1-9]\d{0,2})$/.exec(text) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return false;
  // In IPv6 notation, an IPv4 network has 96 bits more. With exactly 96 it is all of IPv4, with fewer it matches nothing.
  const isMapped = family === 6 && ipaddr.IPv6.parse(address).isIPv4MappedAddress();
  return !isMapped || Number(bits) > 96;
}

export const proxyList = list
  .refine(
    (parts) => parts.every(isProxy),
    'is not a list of IP addresses, networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  )
  .default([]);

/** Addresses and networks, separated by commas. */
export const networkList = list
  .refine(
    (parts) => parts.every((part) => isIP(part) !== 0 || isNetwork(part)),
    'is not a list of IP addresses and networks such as 10.0.0.0/8',
  )
  .default([]);

/** Host names, separated by commas, without ports. */
export const hostNameList = list
  .transform((parts) => parts.map((part) => part.toLowerCase()))
  .refine(
    (parts) => parts.every((part) => /^[a-z0-9_]([a-z0-9._-]*[a-z0-9])?$/.test(part)),
    'is not a list of host names without ports, such as gateway,gateway.internal',
  )
  .default([]);

/** One of the forms of redis-url.ts. */
export const redisUrl = z.string().refine((text) => parseRedisUrl(text) !== undefined, {
  error: `is not a URL such as ${redisUrlExamples.join(' or ')}`,
});

const ratio = z
  .string()
  .refine((value) => /^(?:[01](?:\.0*)?|0?\.\d+)$/.test(value), { error: 'is not a number from 0 to 1' })
  .transform(Number);

/**
 * Variables of OpenTelemetry that are read here; the libraries read the others, such as OTEL_EXPORTER_OTLP_HEADERS. Not
 * `@opentelemetry/sdk-node`, which reads all of them, but installs 41 MB in place of 20.
 */
export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http:', 'https:'], 'http://collector:4318')
    .optional()
    .describe('URL of the collector of traces, in JSON; `/v1/traces` is added; unset: no traces'),
  OTEL_TRACES_SAMPLER_ARG: ratio.default(1).describe('share of new traces that are recorded, 0 to 1'),
};
