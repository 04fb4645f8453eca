import { beforeAll, describe, expect, test } from 'vitest';
import { send, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

/** Clauses that no other test shows. */
describe('the responses of the gateway', () => {
  let key: string;

  const kit = shared(startGatewayKit);
  beforeAll(async () => {
    ({ key } = await kit.issue());
  });

  test('every response of the gateway has a Date', async () => {
    const head = (path: string, credential = '') =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\n${credential}Connection: close\r\n\r\n`;
    for (const bytes of [
      head('/v1/pets', `Authorization: Bearer ${key}\r\n`),
      head('/v1/pets'),
      head('/docs'),
      head('/nothing'),
      'NONSENSE\r\n\r\n',
    ]) {
      const dates = (await sendRaw(kit.gateway.port, bytes)).match(/^Date: .+ GMT\r?$/gm) ?? [];
      expect({ bytes, dates: dates.length }).toEqual({ bytes, dates: 1 });
    }
  });

  test('an API key in the query or in a form is none', async () => {
    const query = await send(`${kit.gateway.url}/v1/pets?access_token=${key}`);
    const form = await send(`${kit.gateway.url}/v1/pets`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `access_token=${key}`,
    });
    for (const { json } of [query, form]) expect(json).toMatchObject({ code: 'missing_api_key' });
    expect(kit.gateway.output()).not.toContain(key);
  });

  test('a request without a key is told the scheme, and of no error', async () => {
    expect((await send(`${kit.gateway.url}/v1/pets`)).header('WWW-Authenticate')).toBe('Bearer');
  });
});
