import type { LookupAddress } from 'node:dns';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  addressIssue,
  createCheckedLookup,
  issueForCustomers,
  redirectOf,
  webhookUrlIssue,
} from '../../../../gateway/events/webhook-address.ts';

const strict = { allowHttp: false, allowedNetworks: [], followRedirects: false };

describe('the address of a webhook', () => {
  test.each([
    ['0.0.0.0', 'this host'],
    ['0.1.2.3', 'this network'],
    ['10.1.2.3', 'private'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link-local, metadata of a cloud'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.1', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relays'],
    ['192.168.1.1', 'private'],
    ['198.18.0.1', 'benchmarking'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'IPv4-mapped loopback'],
    ['::ffff:10.0.0.1', 'IPv4-mapped private'],
    ['::ffff:a9fe:a9fe', 'IPv4-mapped link-local'],
    ['::ffff:0:127.0.0.1', 'IPv4-translated'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['64:ff9b::808:808', 'NAT64 of a public address'],
    ['64:ff9b:1::a00:1', 'local NAT64'],
    ['100::1', 'discard'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['2002:7f00:1::', '6to4 of loopback'],
    ['fc00::1', 'unique local'],
    ['fd12:3456::1', 'unique local'],
    ['fe80::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['4000::1', 'not assigned'],
  ])('must not be %s (%s)', (address) => {
    expect(addressIssue(address, strict)).toContain('is not public');
    const host = address.includes(':') ? `[${address}]` : address;
    expect(webhookUrlIssue(`https://${host}/hook`, strict)).toContain('is not public');
  });

  test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'may be %s',
    (address) => {
      expect(addressIssue(address, strict)).toBeUndefined();
    },
  );

  test.each([
    ['https://2130706433/', 'is not public'],
    ['https://0x7f.1/', 'is not public'],
    ['https://0177.0.0.1/', 'is not public'],
    ['https://127.1/', 'is not public'],
    ['https://１２７.0.0.1/', 'is not public'],
    ['http://example.com/', 'is not https'],
    ['ftp://example.com/', 'is not a URL'],
    ['file:///etc/passwd', 'is not a URL'],
    ['https:///x', 'is not a URL'],
    ['example.com', 'is not a URL'],
    ['', 'is not a URL'],
    [`https://example.com/${'x'.repeat(1000)}`, 'is not a URL'],
    ['https://user@example.com/', 'has a user'],
    ['https://:pass@example.com/', 'has a user'],
  ])('must not be written as %s', (url, issue) => {
    expect(webhookUrlIssue(url, strict)).toContain(issue);
  });

  test('may be of an allowed network, in IPv4, IPv4-mapped and IPv6', () => {
    const rules = { allowHttp: true, allowedNetworks: ['10.0.0.0/8', 'fd00::/8', '127.0.0.1'] };
    for (const allowed of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '127.0.0.1']) {
      expect(addressIssue(allowed, rules)).toBeUndefined();
    }
    for (const other of ['127.0.0.2', '192.168.0.1', 'fc00::1', '::1']) {
      expect(addressIssue(other, rules)).toContain('is not public');
    }
    expect(webhookUrlIssue('http://10.0.0.1:8080/hook', rules)).toBeUndefined();
  });
});

describe('a redirect', () => {
  const url = 'https://example.com/hooks/1?a=b';
  const rules = { ...strict, followRedirects: true };

  test.each([
    ['https://other.example:8443/hook', 'https://other.example:8443/hook'],
    ['/moved', 'https://example.com/moved'],
    ['2', 'https://example.com/hooks/2'],
    ['//other.example/hook', 'https://other.example/hook'],
  ])('to %s is followed by 307 and 308 if that is allowed', (location, target) => {
    for (const status of [307, 308]) {
      expect(redirectOf(url, { status, location }, rules)).toEqual({ url: target });
      expect(redirectOf(url, { status, location }, strict)).toEqual({ issue: 'redirects are not followed' });
    }
  });

  test.each([
    ['http://example.com/hook', 'is not https'],
    ['https://127.0.0.1/', 'is not public'],
    ['https://[::ffff:a9fe:a9fe]/latest/meta-data', 'is not public'],
    ['//2130706433/', 'is not public'],
    ['https://user:pass@example.com/', 'has a user'],
    ['file:///etc/passwd', 'is not a URL'],
    [`/${'x'.repeat(1000)}`, 'is not a URL'],
    ['https://', 'leads to no address'],
    [undefined, 'leads to no address'],
    [['/one', '/two'], 'leads to no address'],
  ])('to %j is not followed', (location, issue) => {
    expect(redirectOf(url, { status: 307, location }, rules)).toEqual({
      issue: expect.stringContaining(issue) as string,
    });
  });

  test.each([300, 301, 302, 303, 304])(
    'with status %i, which may make it a GET, is not followed',
    (status) => {
      expect(redirectOf(url, { status, location: '/moved' }, rules)).toEqual({
        issue: expect.stringContaining('use 307 or 308') as string,
      });
    },
  );

  test.each([200, 299, 400, 500])('is none with status %i', (status) => {
    expect(redirectOf(url, { status, location: '/moved' }, rules)).toBeUndefined();
  });
});

describe('a name', () => {
  const resolving =
    (...addresses: string[]) =>
    (_host: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  const lookUp = (...addresses: string[]) =>
    promisify(createCheckedLookup(strict, resolving(...addresses) as never))('hook.example', { all: true });

  test('leads to the addresses that were checked, without those that are not public', async () => {
    expect(await lookUp('8.8.8.8', '127.0.0.1', '::1')).toEqual([{ address: '8.8.8.8', family: 4 }]);
  });

  test('leads nowhere if no address of it is public', async () => {
    await expect(lookUp('127.0.0.1', 'fe80::1')).rejects.toThrow('hook.example leads to 127.0.0.1');
    await expect(lookUp()).rejects.toThrow('leads nowhere');
  });
});

test.each([
  ['http://example.com/', 'is not https'],
  ['https://10.1.2.3/', 'leads to an address that is not public'],
  ['https://[fd00::1]/', 'leads to an address that is not public'],
  ['https://me:secret@example.com/', 'has a user or a password: check the signature instead'],
])('customers read of %s neither settings nor addresses', (url, said) => {
  expect(issueForCustomers(webhookUrlIssue(url, strict) ?? '')).toBe(said);
});
