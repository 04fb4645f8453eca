import { describe, expect, test } from 'vitest';
import { createPublicAddress } from '../../../../../gateway/platform/http/addresses.ts';

const proxy = '10.0.0.1';
const isProxy = (address: string) => address === proxy;

const request = (headers: Record<string, string>, remoteAddress = '203.0.113.7') => ({
  headers,
  socket: { remoteAddress },
});

describe('without PUBLIC_URL', () => {
  const { baseUrl, fixed } = createPublicAddress({ publicUrl: undefined, isProxy });

  test.each([
    'api.example.com',
    'api.example.com:8443',
    'API.example.com.',
    'my_service-1.internal',
    'localhost:8080',
    '127.0.0.1:8080',
    '[2001:db8::1]',
    '[::ffff:10.0.0.1]:8080',
    'a',
    `${'a'.repeat(253)}:65535`,
  ])('the base URL is the Host %s over http', (host) => {
    expect(baseUrl(request({ host }))).toBe(`http://${host}`);
    expect(fixed).toBeUndefined();
  });

  test.each([
    '',
    ':8080',
    'a b',
    'user@host',
    'a>; rel="next", <http://evil',
    'a:8080:8080',
    'a:65536',
    'evil..test',
    '[::::]',
    'a%2Fb',
    'ä.example',
    'a\r\nLocation: x',
    // An API key in the wrong header.
    `pets_${'aB3'.repeat(12)}aB`,
  ])('addresses stay relative for the Host %j', (host) => {
    expect(baseUrl(request({ host }))).toBe('');
  });

  test('in a chain of proxies the first value counts', () => {
    const headers = {
      host: 'gateway:8080',
      'x-forwarded-host': 'api.example.com, ingress',
      'x-forwarded-proto': 'https, http',
    };
    expect(baseUrl(request(headers, proxy))).toBe('https://api.example.com');
  });

  test('a trusted proxy that says nothing leaves http and Host', () => {
    const headers = { host: 'gateway:8080', 'x-forwarded-host': ' ', 'x-forwarded-proto': 'ftp' };
    expect(baseUrl(request(headers, proxy))).toBe('http://gateway:8080');
  });

  test('nobody else is believed', () => {
    const headers = { host: 'gateway:8080', 'x-forwarded-host': 'evil', 'x-forwarded-proto': 'https' };
    expect(baseUrl(request(headers))).toBe('http://gateway:8080');
  });
});
