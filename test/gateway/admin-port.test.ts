import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseRaw, sendRaw } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

describe('the admin port', () => {
  let kit: GatewayKit;

  beforeAll(async () => {
    kit = await startGatewayKit({ ADMIN_HOSTS: 'gateway,metrics.internal' });
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const get = (path: string, host: string, version = '1.1') =>
    sendRaw(
      Number(new URL(kit.gateway.adminUrl).port),
      `GET ${path} HTTP/${version}\r\n${host}Connection: close\r\n\r\n`,
    );

  test.each([
    'localhost',
    'LOCALHOST:9090',
    '127.0.0.1',
    '127.0.0.1:9090',
    '10.244.3.17:9090',
    '[::1]',
    '[::1]:9090',
    '[2001:db8::1]:9090',
    'gateway:9090',
    'Metrics.Internal',
  ])('responds to the Host %s', async (host) => {
    for (const path of ['/livez', '/readyz', '/metrics']) {
      expect(await get(path, `Host: ${host}\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test.each(['/console/%', '/console/customers/%ff'])(
    'refuses the path %s with 400, without a stack',
    async (path) => {
      const { status, headers, json } = parseRaw(await get(path, 'Host: localhost\r\n'));
      expect(headers).toMatch(/^Content-Type: application\/json/m);
      expect({ status, json }).toMatchObject({ status: 400, json: { code: 'bad_request', status: 400 } });
    },
  );

  test('responds to HTTP/1.0 without Host, as of a simple probe', async () => {
    expect(await get('/livez', '', '1.0')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    'evil.example',
    'evil.example:9090',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'gateway.evil.example',
    'x@localhost',
    'localhost:x',
    '[evil.example]',
    '[::1].evil.example',
    '[::1',
    '',
  ])(
    'refuses the Host "%s": the name of a page that wants to read it may resolve to this address',
    async (host) => {
      for (const path of ['/livez', '/readyz', '/metrics', '/nothing']) {
        const { status, headers, json } = parseRaw(await get(path, `Host: ${host}\r\n`));
        expect(status).toBe(421);
        expect(headers).toMatch(/^Content-Type: application\/json/m);
        const message: unknown = expect.stringContaining('ADMIN_HOSTS');
        expect(json).toEqual({ code: 'bad_request', message, status: 421 });
      }
    },
  );
});
