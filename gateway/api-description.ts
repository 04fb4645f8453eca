import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { entityTag, type EncodedText } from './http/encoded-text.ts';

declare global {
  interface JSON {
    /** ES2026, which TypeScript's libraries lack as yet. */
    rawJSON(text: string): unknown;
  }
}

/** One path of the API and its methods. */
export interface ApiRoute {
  /** Path as in the OpenAPI document, with the base path: /v1/pets/{petId}. */
  pattern: string;
  /** Value of the Allow header. */
  allow: readonly string[];
}

export interface ApiDescription {
  /** The OpenAPI document as JSON text, with relative addresses. */
  json: string;
  /**
   * The same with the addresses of the servers under a base URL, such as https://api.example.com. Takes microseconds, since
   * clients choose the URL if PUBLIC_URL is not set.
   */
  jsonAt(baseUrl: string): EncodedText;
  /** Base path of all operations, such as /v1. */
  basePath: string;
  /** The server as a whole, with the methods of all paths. */
  everything: ApiRoute;
  /** Operations that clients are meant to call: neither HEAD nor OPTIONS. */
  operations: readonly { route: string; method: string }[];
  /** Finds the route of a path without query. Case-sensitive, without a trailing slash, and nothing is decoded. */
  match(path: string): ApiRoute | undefined;
}

const documentSchema = z.looseObject({
  info: z.looseObject({ contact: z.looseObject({ name: z.string() }) }),
  servers: z.array(z.looseObject({ url: z.string() })).min(1),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});

/** Route of the OpenAPI document itself. It needs no key and costs no quota. */
const descriptionRoute: ApiRoute = { pattern: '/openapi.json', allow: ['GET', 'HEAD', 'OPTIONS'] };

/**
 * Loads openapi.yaml. Only documented routes are proxied: the gateway has no other list of routes, and knows nothing of
 * pets beyond the document.
 * @param supportUrl where clients find help: a page, or a `mailto:` URL. Without it, no address of the file is given to them.
 */
export function loadApiDescription(supportUrl?: string): ApiDescription {
  const text = readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8');
  // Limits of 64-bit integers are beyond the exact range of numbers.
  const source = z.looseObject({}).parse(parse(text, { intAsBigInt: true }));
  // In the order of the source: zod begins with the keys of its schema.
  const { info, ...parsed } = documentSchema.parse(source);
  const contact = { name: info.contact.name, ...addressOf(supportUrl) };
  const document = { ...source, ...parsed, info: { ...z.looseObject({}).parse(source['info']), contact } };
  const basePath = document.servers[0]?.url ?? '';
  const json = toJson(document);
  const placeholder = randomUUID();
  const servers = document.servers.map((server) => ({ ...server, url: placeholder + server.url }));
  const parts = toJson({ ...document, servers })
    .split(placeholder)
    .map((part) => Buffer.from(part));
  const version = entityTag(json);
  const routes = Object.entries(document.paths).map(([path, operations]) => ({
    expression: expressionOf(basePath + path),
    route: { pattern: basePath + path, allow: allowedMethods(Object.keys(operations)) },
  }));
  return {
    json,
    jsonAt(baseUrl) {
      const url = Buffer.from(JSON.stringify(baseUrl).slice(1, -1));
      return {
        body: Buffer.concat(parts.flatMap((part, index) => (index === 0 ? part : [url, part]))),
        etag: entityTag(version + baseUrl),
      };
    },
    basePath,
    operations: routes.flatMap(({ route }) =>
      route.allow.flatMap((method) =>
        method === 'HEAD' || method === 'OPTIONS' ? [] : [{ route: route.pattern, method }],
      ),
    ),
    everything: { pattern: '*', allow: [...new Set(routes.flatMap(({ route }) => route.allow))] },
    match(path) {
      if (path === descriptionRoute.pattern) return descriptionRoute;
      return routes.find(({ expression }) => expression.test(path))?.route;
    },
  };
}

function addressOf(supportUrl: string | undefined): { url?: string; email?: string } {
  if (supportUrl === undefined) return {};
  const { protocol, pathname } = new URL(supportUrl);
  return protocol === 'mailto:' ? { email: decodeURIComponent(pathname) } : { url: supportUrl };
}

/** JSON text, in which integers of any size are exact. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part,
  );
}

/** Every path with GET has HEAD, too (RFC 9110 section 9.1), and every path has OPTIONS. */
function allowedMethods(operations: string[]): string[] {
  const methods = ['get', 'post', 'put', 'patch', 'delete'].filter((method) => operations.includes(method));
  return [
    ...methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
    'OPTIONS',
  ];
}

/**
 * A path parameter: unreserved characters (RFC 3986 section 2.3), and no dot segment. Any other path has several
 * spellings, and a proxy before the pets service could normalize it to another one.
 */
const parameter = String.raw`(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+`;

function expressionOf(pattern: string): RegExp {
  const segments = pattern
    .split('/')
    .map((segment) =>
      /^\{\w+\}$/.test(segment) ? parameter : segment.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    );
  return new RegExp(`^${segments.join('/')}$`);
}
