import { describe, expect, test } from 'vitest';
import { addressGroup } from '../../../../gateway/http/address-group.ts';

describe('what shares one limit', () => {
  test.each([
    ['an IPv4 address alone', '203.0.113.7', '203.0.113.7'],
    ['an IPv4 address as a dual-stack socket shows it', '::ffff:203.0.113.7', '203.0.113.7'],
    ['the same in hexadecimal', '::ffff:cb00:7107', '203.0.113.7'],
    ['the first address of an IPv6 network', '2001:db8:1:100::1', '2001:db8:1:100::/56'],
    ['its last address', '2001:db8:1:1ff:ffff:ffff:ffff:ffff', '2001:db8:1:100::/56'],
    ['an address written in capitals and in full', '2001:0DB8:0001:01AB:0:0:0:1', '2001:db8:1:100::/56'],
    ['an address of the next network', '2001:db8:1:200::1', '2001:db8:1:200::/56'],
    ['an address with a zone', 'fe80::1%eth0', 'fe80::/56'],
    ['an address with a port', '203.0.113.7:5678', 'unknown'],
    ['no address', '', 'unknown'],
    ['what a client made up', 'gw:plan:free', 'unknown'],
  ])('%s', (_name, address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});
