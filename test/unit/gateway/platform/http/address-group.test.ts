import { describe, expect, test } from 'vitest';
import { addressGroup } from '../../../../../gateway/platform/http/addresses.ts';

describe('the group of addresses that share a limit', () => {
  test.each([
    ['an IPv4 address', '203.0.113.7', '203.0.113.7'],
    ['an IPv4 address from a dual-stack socket', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv4-mapped address in hexadecimal', '::ffff:cb00:7107', '203.0.113.7'],
    ['the first address of an IPv6 network', '2001:db8:1:100::1', '2001:db8:1:100::/56'],
    [
      'the last address of the same IPv6 network',
      '2001:db8:1:1ff:ffff:ffff:ffff:ffff',
      '2001:db8:1:100::/56',
    ],
    ['an uncompressed IPv6 address in capitals', '2001:0DB8:0001:01AB:0:0:0:1', '2001:db8:1:100::/56'],
    ['an address of the next IPv6 network', '2001:db8:1:200::1', '2001:db8:1:200::/56'],
    ['an IPv6 address with a zone', 'fe80::1%eth0', 'fe80::/56'],
    ['an address with a port', '203.0.113.7:5678', 'unknown'],
    ['an empty text', '', 'unknown'],
    ['a text that is not an address', 'gw:plan:free', 'unknown'],
  ])('%s', (_name, address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});
