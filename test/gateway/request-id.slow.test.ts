import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { startBothServices, type BothServices } from '../support/kits/both-services.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';

/** Headers that the gateway or Node sets. */
const gatewayHeaders = [
  'Allow Cache-Control Connection Content-Length Content-Security-Policy Content-Type Date Keep-Alive RateLimit',
  'RateLimit-Policy Retry-After Strict-Transport-Security WWW-Authenticate X-Content-Type-Options X-RateLimit-Limit',
  'X-RateLimit-Remaining X-RateLimit-Reset X-Request-Id',
].flatMap((names) => names.split(' '));

/** Other headers, and property names that are special in JavaScript. */
const otherNames = [
  'Accept-Ranges Access-Control-Allow-Origin Age Authorization Content-Encoding Content-Language Content-Location',
  'Deprecation ETag Expires Host Idempotency-Key Last-Modified Link Location Server Set-Cookie Sunset Trailer',
  'Transfer-Encoding Upgrade Vary Via __proto__ constructor toString',
].flatMap((names) => names.split(' '));

const requestIds = [
  ...gatewayHeaders.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
  ...otherNames,
];

const concurrency = 10;

/** Headers that differ between two responses to the same request. */
const varying = new Set([
  'x-request-id',
  'date',
  'content-length',
  'location',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit',
  'retry-after',
]);

interface Case {
  name: string;
  path: string;
  caller: string;
  key: () => string | undefined;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A response without a body, such as one to HEAD, has no error to compare. */
function shapeOf({ status, headers, text }: ClientResponse) {
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  const values = Object.entries(headers)
    .toSorted(([name], [other]) => (name < other ? -1 : 1))
    .map(([name, value]) => [name, varying.has(name) ? 'any' : value]);
  const isError = typeof json === 'object' && json !== null && 'code' in json;
  return {
    status,
    headers: Object.fromEntries(values) as Record<string, unknown>,
    error: isError ? json : undefined,
  };
}

describe('a request id that equals a header name', () => {
  let services: BothServices;
  let limitedKey: string;
  let bannedKey: string;
  /** A key can read usage ten times a second, so each request has its own. */
  let usageKeys: string[];

  beforeAll(async () => {
    services = await startBothServices();
    const redis = await connectRedis(services.redisUrl);
    const limited = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 1, day: 1 });
    const banned = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 1, day: 1 });
    const forUsage = await Promise.all([...requestIds, 'plain'].map(() => keyIssuer(redis).issue()));
    usageKeys = forUsage.map(({ key }) => key);
    // The key over its limit must not be banned.
    await redis.hset(redisKeys.banPolicy, 'enabled', 'false');
    await redis.set(redisKeys.ban(banned), 'for this test', 'EX', 600);
    redis.disconnect();
    limitedKey = limited.key;
    bannedKey = banned.key;
    // The first request uses up both windows.
    await send(`${services.gateway.url}/v1/pets`, { key: limitedKey });
  });

  afterAll(() => services[Symbol.asyncDispose]());

  const pet = JSON.stringify({ name: 'Luna', categoryId: 1 });
  const json = { 'content-type': 'application/json' };

  const routes = [
    { name: 'list pets', path: '/v1/pets' },
    { name: 'HEAD', path: '/v1/pets', method: 'HEAD' },
    { name: 'a page of pets', path: '/v1/pets?limit=1' },
    { name: 'create a pet', path: '/v1/pets', method: 'POST', headers: json, body: pet },
    { name: 'an invalid pet', path: '/v1/pets', method: 'POST', headers: json, body: '{}' },
    { name: 'get a pet', path: '/v1/pets/1' },
    { name: 'a pet that does not exist', path: '/v1/pets/999999999' },
    { name: 'the OpenAPI document', path: '/openapi.json' },
    { name: 'OPTIONS', path: '/v1/pets', method: 'OPTIONS' },
    { name: 'an unknown path', path: '/v1/unknown' },
    { name: 'a path outside the API', path: '/unknown' },
    { name: 'a wrong method', path: '/v1/pets', method: 'DELETE' },
  ];
  const callers = [
    { caller: 'a valid key', key: () => services.key },
    { caller: 'no key', key: () => undefined },
    { caller: 'an unknown key', key: () => generateApiKey() },
    { caller: 'a key over its limit', key: () => limitedKey },
    { caller: 'a banned key', key: () => bannedKey },
  ];
  const cases = [
    ...callers.flatMap(({ caller, key }) => routes.map((route) => Object.assign({ caller, key }, route))),
    { name: 'usage', path: '/v1/usage', caller: 'a valid key', key: () => usageKeys.pop() },
    { name: 'usage', path: '/v1/usage', caller: 'no key', key: () => undefined },
  ];

  test.each<Case>(cases)('does not change the response: $name, $caller', async (route) => {
    const { path, key, method = 'GET', headers, body } = route;
    const sendWith = (requestId: string) => {
      const apiKey = key();
      return send(`${services.gateway.url}${path}`, {
        method,
        ...(apiKey === undefined ? {} : { key: apiKey }),
        ...(body === undefined ? {} : { body }),
        headers: { ...headers, 'x-request-id': requestId },
      });
    };
    const plain = shapeOf(await sendWith('plain'));
    const differing: string[] = [];
    const differenceOf = async (requestId: string): Promise<string | undefined> => {
      const response = await sendWith(requestId);
      if (response.header('X-Request-Id') !== requestId) differing.push(`${requestId}: not returned`);
      const shape = shapeOf(response);
      if (JSON.stringify(shape) === JSON.stringify(plain)) return undefined;
      return `${requestId}: ${JSON.stringify(shape)} instead of ${JSON.stringify(plain)}`;
    };
    const check = async (requestId: string) => {
      if ((await differenceOf(requestId)) === undefined) return;
      // On a busy machine, a Redis that is silent for a moment gives a key over its limit the share of an outage. What a name
      // does, it does again.
      const difference = await differenceOf(requestId);
      if (difference !== undefined) differing.push(difference);
    };
    for (let start = 0; start < requestIds.length; start += concurrency) {
      await Promise.all(requestIds.slice(start, start + concurrency).map(check));
    }
    expect(differing).toEqual([]);
  });
});
