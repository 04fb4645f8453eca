import { describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/keys/api-key-format.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('an attacker', () => {
  const kit = shared(() => startGatewayKit({ TRUST_PROXY: 'loopback' }));

  const from = (address: string, key: string, path = '/v1/pets') =>
    send(kit.gateway.url + path, { key, headers: { 'x-forwarded-for': address } });

  test('who guesses well-formed keys gets 429 after 60 guesses, without an effect on other clients', async () => {
    const { key } = await kit.issue();
    const codes = [];
    for (let guess = 0; guess < 80; guess += 1) {
      const response = await from('203.0.113.50', generateApiKey());
      codes.push((response.json as { code: string }).code);
    }
    const unknown = Array<string>(60).fill('unknown_api_key');
    expect(codes).toEqual([...unknown, ...Array<string>(20).fill('rate_limit_exceeded')]);
    // A valid key still works from that address, and another address has its own limit.
    expect((await from('203.0.113.50', key)).status).toBe(200);
    expect((await from('203.0.113.51', generateApiKey())).status).toBe(401);
    expect(kit.upstream.seen.map(({ headers }) => headers['x-forwarded-for'])).toEqual([
      '203.0.113.50, 127.0.0.1',
    ]);
  });

  test('who claims a new address in each request is limited by the address that the proxy saw', async () => {
    const statuses = [];
    for (let guess = 0; guess < 62; guess += 1) {
      // The client's own value is on the left; the trusted proxy appends the real address.
      const response = await from(`198.51.100.${guess}, 203.0.113.60`, generateApiKey());
      statuses.push(response.status);
    }
    expect(statuses).toEqual([...Array<number>(60).fill(401), 429, 429]);
  });

  test('cannot find out with a part of a key whether it exists', async () => {
    const { key } = await kit.issue();
    const partialKeys = [
      key.slice(0, -1),
      key.toLowerCase(),
      key.slice(0, 20),
      `${key.slice(0, 9)}${'a'.repeat(34)}`,
    ];
    const codes = [];
    for (const [index, partialKey] of partialKeys.entries()) {
      codes.push((await from(`192.0.2.${index}`, partialKey)).json);
    }
    const malformed: unknown = expect.objectContaining({ code: 'malformed_api_key', status: 401 });
    expect(codes).toEqual(partialKeys.map(() => malformed));
  });

  test('with a valid key sees the usage of that key only', async () => {
    const mine = await kit.issue({ minute: 11, day: 111 });
    const theirs = await kit.issue({ minute: 22, day: 222 });
    await from('192.0.2.100', theirs.key);
    const query = `id=${theirs.id}&key=${theirs.key}&keyHash=${theirs.keyHash}&api_key=${theirs.key}`;
    const response = await send(`${kit.gateway.url}/v1/usage?${query}`, {
      key: mine.key,
      headers: { 'x-api-key': theirs.key, 'x-key-id': theirs.id, cookie: `key=${theirs.key}` },
    });
    expect(response.json).toMatchObject({ minute: { limit: 11, used: 0 }, day: { limit: 111, used: 0 } });
    for (const path of [`/v1/usage/${theirs.id}`, `/v1/keys/${theirs.id}`]) {
      expect((await send(kit.gateway.url + path, { key: mine.key })).status).toBe(404);
    }
    // A key in another header is ignored.
    expect((await send(`${kit.gateway.url}/v1/usage`, { headers: { 'x-api-key': mine.key } })).status).toBe(
      401,
    );
  });
});
