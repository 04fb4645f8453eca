import { describe, expect, test } from 'vitest';
import { parseNetwork } from '../../../../gateway/quota/network.ts';

const covers = (text: string, address: string) => {
  const network = parseNetwork(text);
  return 'issue' in network ? network.issue : network.contains(address);
};

describe('an address or network', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['2001:DB8::/56', '2001:db8::/56'],
    ['2001:db8::1/128', '2001:db8::1'],
  ])('%s is named %s', (text, name) => {
    expect(parseNetwork(text)).toMatchObject({ name });
  });

  test.each([
    ['203.0.113.0/24', '203.0.113.255', true],
    ['203.0.113.0/24', '203.0.114.0', false],
    ['203.0.113.0/25', '203.0.113.128', false],
    ['203.0.113.7', '203.0.113.7', true],
    ['203.0.113.7', '203.0.113.70', false],
    ['203.0.113.7', '::ffff:203.0.113.7', true],
    ['203.0.113.0/24', '2001:db8::1', false],
    ['2001:db8::/56', '2001:db8:0:ff::1', true],
    ['2001:db8::/56', '2001:db8:0:100::1', false],
    ['2001:db8::/56', '203.0.113.7', false],
    ['203.0.113.0/24', '', false],
    ['203.0.113.0/24', 'unknown', false],
  ])('%s and %s: %s', (network, address, expected) => {
    expect(covers(network, address)).toBe(expected);
  });

  test.each([
    ['203.0.113.5/24', 'is an address within a network: did you mean 203.0.113.0/24'],
    ['2001:db8::1/56', 'is an address within a network: did you mean 2001:db8::/56'],
    ['::ffff:203.0.113.7', 'has to be written as IPv4: 203.0.113.7'],
    ['0.0.0.0/0', 'needs a prefix length from 8 to 32'],
    ['203.0.113.0/33', 'needs a prefix length from 8 to 32'],
    ['::/0', 'needs a prefix length from 16 to 128'],
    ...[
      '',
      'localhost',
      '10.1/16',
      '0x7f.1',
      '203.0.113.0/',
      '203.0.113.0/08',
      '203.0.113.0/-1',
      '203.0.113.0/ 8',
    ]
      .concat(['203.0.113.0/24/24', 'fe80::1%eth0', '203.0.113', '300.0.0.1', '/24', '203.0.113.0/24 '])
      .map((text) => [text, 'is not an IP address or a network such as 203.0.113.0/24 or 2001:db8::/56']),
  ])('%j is refused: it %s', (text = '', issue) => {
    expect(parseNetwork(text)).toEqual({ issue });
  });
});
