import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { startBothServices, type BothServices } from '../support/kits/both-services.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';

/** Names that the gateway sets, and Node for it. */
const ownNames = [
  'Allow Cache-Control Connection Content-Length Content-Security-Policy Content-Type Date Keep-Alive RateLimit',
  'RateLimit-Policy Retry-After Strict-Transport-Security WWW-Authenticate X-Content-Type-Options X-RateLimit-Limit',
  'X-RateLimit-Remaining X-RateLimit-Reset X-Request-Id',
].flatMap((names) => names.split(' '));

/** Names that the pets service or something else may set, and names of JavaScript's own. */
const otherNames = [
  'Accept-Ranges Access-Control-Allow-Origin Age Authorization Content-Encoding Content-Language Content-Location',
  'Deprecation ETag Expires Host Idempotency-Key Last-Modified Link Location Server Set-Cookie Sunset Trailer',
  'Transfer-Encoding Upgrade Vary Via __proto__ constructor toString',
].flatMap((names) => names.split(' '));

const requestIds = [
  ...ownNames.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]),
  ...otherNames,
];

const atOnce = 10;

/** What differs between two responses to the same request. */
const changing = new Set([
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
  who: string;
  key: () => string | undefined;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Of a response without a body, as to HEAD, there is no error to compare. */
function shapeOf({ status, headers, text }: ClientResponse) {
  const json: unknown = text === '' ? undefined : JSON.parse(text);
  const values = Object.entries(headers)
    .toSorted(([name], [other]) => (name < other ? -1 : 1))
    .map(([name, value]) => [name, changing.has(name) ? 'some' : value]);
  const isError = typeof json === 'object' && json !== null && 'code' in json;
  return {
    status,
    headers: Object.fromEntries(values) as Record<string, unknown>,
    error: isError ? json : undefined,
  };
}

describe('a request id that reads like the name of a header', () => {
  let services: BothServices;
  let limitedKey: string;
  let bannedKey: string;
  /** Usage can be read ten times a second with one key, so each request has a key of its own. */
  let usageKeys: string[];

  beforeAll(async () => {
    services = await startBothServices();
    const redis = await connectRedis(services.redisUrl);
    const limited = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 1, day: 1 });
    const banned = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 1, day: 1 });
    const forUsage = await Promise.all([...requestIds, 'plain'].map(() => keyIssuer(redis).issue()));
    usageKeys = forUsage.map(({ key }) => key);
    // The key over its limit must not be banned for being refused all the time.
    await redis.hset(redisKeys.banPolicy, 'enabled', 'false');
    await redis.set(redisKeys.ban(banned.keyHash), 'for this test', 'EX', 600);
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
    { name: 'no such pet', path: '/v1/pets/999999999' },
    { name: 'the description', path: '/openapi.json' },
    { name: 'OPTIONS', path: '/v1/pets', method: 'OPTIONS' },
    { name: 'an unknown path', path: '/v1/unknown' },
    { name: 'a path outside of the API', path: '/unknown' },
    { name: 'a wrong method', path: '/v1/pets', method: 'DELETE' },
  ];
  const callers = [
    { who: 'a valid key', key: () => services.key },
    { who: 'no key', key: () => undefined },
    { who: 'an unknown key', key: () => generateApiKey() },
    { who: 'a key over its limit', key: () => limitedKey },
    { who: 'a banned key', key: () => bannedKey },
  ];
  const cases = [
    ...callers.flatMap(({ who, key }) => routes.map((route) => Object.assign({ who, key }, route))),
    { name: 'usage', path: '/v1/usage', who: 'a valid key', key: () => usageKeys.pop() },
    { name: 'usage', path: '/v1/usage', who: 'no key', key: () => undefined },
  ];

  test.each<Case>(cases)('changes nothing of the response to: $name, $who', async (route) => {
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
    const check = async (requestId: string) => {
      const response = await sendWith(requestId);
      if (response.header('X-Request-Id') !== requestId) differing.push(`${requestId}: not sent back`);
      const shape = shapeOf(response);
      if (JSON.stringify(shape) !== JSON.stringify(plain)) {
        differing.push(`${requestId}: ${JSON.stringify(shape)} instead of ${JSON.stringify(plain)}`);
      }
    };
    for (let start = 0; start < requestIds.length; start += atOnce) {
      await Promise.all(requestIds.slice(start, start + atOnce).map(check));
    }
    expect(differing).toEqual([]);
  });
});
