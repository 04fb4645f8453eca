import { describe, expect, test } from 'vitest';
import {
  absoluteAddresses,
  addressGroup,
  createIsProxy,
  createPublicAddress,
  findClientAddress,
} from '../../../../../gateway/platform/http/addresses.ts';

describe('the targets of a Link header', () => {
  const base = 'https://api.example.com/animals';
  const linkOf = (link: string | string[]) => absoluteAddresses({ link }, () => base)['link'];

  test('are all made absolute', () => {
    expect(linkOf('</a>; rel="next", </b>;rel=prev')).toBe(`<${base}/a>; rel="next", <${base}/b>;rel=prev`);
    expect(linkOf(['</a>; rel="next"', '</b>'])).toEqual([`<${base}/a>; rel="next"`, `<${base}/b>`]);
    const title = String.raw`title="see \"</b>\""`;
    expect(linkOf(`</a>; ${title}`)).toBe(`<${base}/a>; ${title}`);
  });

  test.each(['<https://other.example/a>; rel="next"', '<//other.example/a>', '<?cursor=A>', '<#part>'])(
    'stay as they are in %s',
    (link) => {
      expect(linkOf(link)).toBe(link);
    },
  );

  test('take linear time', () => {
    const hostile = ['<'.repeat(300_000), '"'.repeat(300_001), String.raw`"\"`.repeat(300_000)].join('');
    expect(linkOf(hostile)).toBe(hostile);
  });
});

describe('the group of addresses that share a limit', () => {
  const network = '2001:db8:1:100::/56';

  test.each([
    ['an IPv4 address', '203.0.113.7', '203.0.113.7'],
    ['an IPv4 address from a dual-stack socket', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv4-mapped address in hexadecimal', '::ffff:cb00:7107', '203.0.113.7'],
    ['the first address of an IPv6 network', '2001:db8:1:100::1', network],
    ['the last address of the same IPv6 network', '2001:db8:1:1ff:ffff:ffff:ffff:ffff', network],
    ['an uncompressed IPv6 address in capitals', '2001:0DB8:0001:01AB:0:0:0:1', network],
    ['an address of the next IPv6 network', '2001:db8:1:200::1', '2001:db8:1:200::/56'],
    ['an IPv6 address with a zone', 'fe80::1%eth0', 'fe80::/56'],
    ['an address with a port', '203.0.113.7:5678', 'unknown'],
    ['an empty text', '', 'unknown'],
    ['a text that is not an address', 'gw:plan:free', 'unknown'],
  ])('%s', (_name, address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});

describe('the address of a client', () => {
  const isProxy = createIsProxy(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);

  function find(forwardedFor: string | undefined, remoteAddress = '127.0.0.1'): string {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    return findClientAddress({ headers, socket: { remoteAddress } }, isProxy);
  }

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

  test('is that of the peer without a header, or if the peer is not trusted, the second time as well', () => {
    expect(find(undefined)).toBe('127.0.0.1');
    for (const [peer, address = peer] of [
      ['198.51.100.1'],
      ['198.51.100.1'],
      ['::ffff:198.51.100.1', '198.51.100.1'],
      ['fe80::7%br-lan.100', 'fe80::7'],
    ] as const)
      expect(find('203.0.113.7:5678', peer)).toBe(address);
    expect(isProxy('')).toBe(false);
    expect(createIsProxy([])('127.0.0.1')).toBe(false);
  });
});

describe('without PUBLIC_URL', () => {
  const proxy = '10.0.0.1';
  const { baseUrl, fixed } = createPublicAddress(undefined, (address) => address === proxy);
  const baseOf = (headers: Record<string, string>, remoteAddress = '203.0.113.7') =>
    baseUrl({ headers, socket: { remoteAddress } });

  test.each(
    (
      'api.example.com api.example.com:8443 API.example.com. my_service-1.internal localhost:8080 127.0.0.1:8080 ' +
      `[2001:db8::1] [::ffff:10.0.0.1]:8080 a ${'a'.repeat(253)}:65535`
    ).split(' '),
  )('the base URL is the Host %s over http', (host) => {
    expect(baseOf({ host })).toBe(`http://${host}`);
    expect(fixed).toBeUndefined();
  });

  test.each([
    ...' :8080 user@host a:8080:8080 a:65536 evil..test [::::] a%2Fb ä.example'.split(' '),
    'a b',
    'a>; rel="next", <http://evil',
    'a\r\nLocation: x',
    // An API key in the wrong header.
    `pets_${'aB3'.repeat(12)}aB`,
  ])('addresses stay relative for the Host %j', (host) => {
    expect(baseOf({ host })).toBe('');
  });

  test('a trusted proxy is believed, of a chain the first one, and nobody else', () => {
    const chain = { 'x-forwarded-host': 'api.example.com, ingress', 'x-forwarded-proto': 'https, http' };
    const headers = { host: 'gateway:8080', ...chain };
    expect(baseOf(headers, proxy)).toBe('https://api.example.com');
    expect(baseOf(headers)).toBe('http://gateway:8080');
    const nothing = { 'x-forwarded-host': ' ', 'x-forwarded-proto': 'ftp' };
    expect(baseOf({ ...headers, ...nothing }, proxy)).toBe('http://gateway:8080');
  });
});
