import { describe, expect, test } from 'vitest';
import { parseRaw, sendRaw } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';

describe('the admin port', () => {
  const kit = shared(() => startGatewayKit({ ADMIN_HOSTS: 'gateway,metrics.internal' }));

  const get = (path: string, host: string, version = '1.1') =>
    sendRaw(
      Number(new URL(kit.gateway.adminUrl).port),
      `GET ${path} HTTP/${version}\r\n${host}Connection: close\r\n\r\n`,
    );

  test.each(
    (
      'localhost LOCALHOST:9090 127.0.0.1 127.0.0.1:9090 10.244.3.17:9090 [::1] [::1]:9090 ' +
      '[2001:db8::1]:9090 gateway:9090 Metrics.Internal'
    ).split(' '),
  )('responds to the Host %s', async (host) => {
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
    ['GET /livez HTTP/1.1\r\nHost: localhost\r\n', 200],
    ['GET / HTTP/1.1\r\nHost: localhost\r\n', 302],
    ['GET /console HTTP/1.1\r\nHost: localhost\r\n', 200],
    ['GET /api/plans HTTP/1.1\r\nHost: localhost\r\n', 401],
    ['GET /livez HTTP/1.1\r\nHost: evil.example\r\n', 421],
    ['NONSENSE\r\n', 400],
    [`GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n`, 431],
  ])('the response to %j is not sniffed and not framed', async (request, status) => {
    const port = Number(new URL(kit.gateway.adminUrl).port);
    const response = await sendRaw(port, `${request}Connection: close\r\n\r\n`);
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(response).toMatch(/^X-Content-Type-Options: nosniff\r$/m);
    expect(response).toMatch(/^Content-Security-Policy: .*frame-ancestors 'none'\r$/m);
  });
});
