import { describe, expect, test } from 'vitest';
import { createIsProxy, findClientAddress } from '../../../../../gateway/platform/http/addresses.ts';

const isProxy = createIsProxy(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);

function find(forwardedFor: string | undefined, remoteAddress = '127.0.0.1'): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return findClientAddress({ headers, socket: { remoteAddress } }, isProxy);
}

describe('the address of a client', () => {
  test.each([
    ['IPv4', '203.0.113.7', '203.0.113.7'],
    ['IPv4 with a port', '203.0.113.7:5678', '203.0.113.7'],
    ['IPv6', '2001:db8::1', '2001:db8::1'],
    ['IPv6 in brackets', '[2001:db8::1]', '2001:db8::1'],
    ['IPv6 in brackets with a port', '[2001:db8::1]:443', '2001:db8::1'],
    ['IPv6 that ends like a port', '2001:db8::1:443', '2001:db8::1:443'],
    ['IPv4-mapped IPv6', '::ffff:203.0.113.7', '::ffff:203.0.113.7'],
    ['IPv4 in brackets', '[203.0.113.7]:443', '203.0.113.7'],
    ['IPv6 without its zone', 'fe80::7%br-lan.100', 'fe80::7'],
    ['an entry after empty ones', ' , 203.0.113.7:5678 ,, ', '203.0.113.7'],
    ['what the nearest proxy says, and not the client', '198.51.100.1, 203.0.113.7:5678', '203.0.113.7'],
    ['what the proxy behind the nearest one says', '203.0.113.7:5678, 10.0.0.9:80', '203.0.113.7'],
    ['what a proxy says whose own address has brackets', '203.0.113.7, [fd00::1]:80', '203.0.113.7'],
    ['the last of several proxies if all are trusted', '10.0.0.8:1, 10.0.0.9:2', '10.0.0.8'],
  ])('is %s', (_name, forwardedFor, address) => {
    expect(find(forwardedFor)).toBe(address);
  });

  test.each(
    (
      'unknown _hidden 203.0.113.7: 203.0.113.7:x 203.0.113.7:123456 203.0.113.256 203.0.113 ' +
      '3405803783 [203.0.113.7 [2001:db8::1]443 [] []:80 2001:db8::1::2 evil.example:80 ' +
      '"203.0.113.7"'
    ).split(' '),
  )('is that of the nearest known hop if the entry is %s', (entry) => {
    expect(find(`198.51.100.1, ${entry}`)).toBe('127.0.0.1');
    expect(find(`198.51.100.1, ${entry}, 10.0.0.9:80`, '10.0.0.1')).toBe('10.0.0.9');
  });

  test('is that of the peer without a header, or if the peer is not trusted', () => {
    expect(find(undefined)).toBe('127.0.0.1');
    expect(find('203.0.113.7:5678', '198.51.100.1')).toBe('198.51.100.1');
    expect(find('203.0.113.7:5678', '::ffff:198.51.100.1')).toBe('198.51.100.1');
    expect(find('203.0.113.7:5678', 'fe80::7%br-lan.100')).toBe('fe80::7');
  });
});
