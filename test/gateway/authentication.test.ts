import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { openRawConnection, statusesOf } from '../support/http/raw-connection.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { clockAhead } from '../support/programs.ts';

describe('authentication', () => {
  const kit = shared(() => startGatewayKit({ TRUST_PROXY: 'loopback' }));

  let nextAddress = 1;
  /** Each request has its own client address, so that the limit per address does not apply. */
  const pets = (headers: Record<string, string> = {}) => {
    nextAddress += 1;
    const address = `198.18.${nextAddress >> 8}.${nextAddress & 255}`;
    return send(`${kit.gateway.url}/v1/pets`, { headers: { 'x-forwarded-for': address, ...headers } });
  };

  function expectRefusal(response: ClientResponse, code: string): void {
    expect(response).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(response.header('Content-Type')).toBe('application/json; charset=utf-8');
    expect(response.json).toEqual({ code, message: expect.any(String), status: 401 });
    expect(response.headers).toMatchObject({ 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59' });
    expect(response.header('RateLimit-Policy')).toBe('"ip";q=60;w=60');
    expect(response.header('RateLimit')).toBe('"ip";r=59;t=60');
  }

  test('a request without a key gets missing_api_key', async () => {
    expectRefusal(await pets(), 'missing_api_key');
  });

  test('a key that was never issued gets unknown_api_key', async () => {
    expectRefusal(await pets({ authorization: `Bearer ${generateApiKey()}` }), 'unknown_api_key');
  });

  test('a revoked key gets revoked_api_key, and its record is kept for 90 days', async () => {
    const { key, id, customerId, keyHash } = await kit.issue();
    await keyIssuer(kit.redis).store.revoke(id);
    expectRefusal(await pets({ authorization: `Bearer ${key}` }), 'revoked_api_key');
    const days = (await kit.redis.ttl(redisKeys.apiKey({ customerId, keyHash }))) / 86_400;
    expect(Math.round(days)).toBe(90);
  });

  test('a key works until it expires, and then gets expired_api_key', async () => {
    const { key, customerId, keyHash } = await kit.issue({ expiresAt: new Date(Date.now() + 4000) });
    expect((await pets({ authorization: `Bearer ${key}` })).status).toBe(200);
    await expect
      .poll(async () => (await pets({ authorization: `Bearer ${key}` })).status, { timeout: 8000 })
      .toBe(401);
    expectRefusal(await pets({ authorization: `Bearer ${key}` }), 'expired_api_key');
    expect(Math.round((await kit.redis.ttl(redisKeys.apiKey({ customerId, keyHash }))) / 86_400)).toBe(90);
  });

  test('each request of a connection is served by its own key, whatever the one before it had', async () => {
    const [one, other] = [await kit.issue(), await kit.issue({ plan: 'pro' })];
    const connection = openRawConnection(kit.gateway.port);
    const fields = [
      `Authorization: Bearer ${one.key}\r\n`,
      `Authorization: Bearer ${other.key}\r\n`,
      `Authorization: Bearer ${one.key}\r\nAuthorization: Bearer ${one.key}\r\n`,
      `authorization: bearer ${one.key}\r\n`,
      '',
      `Authorization: Bearer ${one.key}x\r\n`,
      `Authorization: Bearer ${one.key}x\r\n`,
      `Authorization: Bearer ${one.key}\r\nConnection: close\r\n`,
    ];
    for (const field of fields)
      connection.write(`GET /v1/pets HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 198.19.0.1\r\n${field}\r\n`);
    const responses = await connection.responses;
    expect(statusesOf(responses)).toEqual([200, 200, 401, 200, 401, 401, 401, 200]);
    const limits = responses.map(
      ({ headers }) => headers.find(([name]) => name === 'x-ratelimit-limit')?.[1],
    );
    expect(limits.filter((_limit, index) => fields[index]?.includes(other.key))).toEqual(['300']);
  });

  test(
    "the limit per address ends by Redis' clock, whatever that of a gateway says",
    { tags: ['faketime'] },
    async () => {
      const hours = 3 * 3600;
      await using gateway = await startGateway({ ...kit.env, ...clockAhead(hours) });
      const { headers } = await send(`${gateway.url}/v1/pets`);
      expect(Date.parse(String(headers['date'])) / 1000).toBeGreaterThan(Date.now() / 1000 + hours / 2);
      expect(Number(headers['x-ratelimit-reset'])).toBeLessThan(Date.now() / 1000 + hours / 2);
    },
  );
});
