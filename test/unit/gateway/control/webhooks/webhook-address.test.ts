import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  addressIssue,
  createCheckedLookup,
  parseWebhookUrl,
  resolveAddresses,
} from '../../../../../gateway/control/webhooks/webhook-address.ts';

describe('the address of a webhook', () => {
  // Each kind that the registries of IANA for special-purpose addresses have.
  test.each(
    (
      '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 ' +
      '192.88.99.1 192.168.1.1 198.18.0.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ' +
      '::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:127.0.0.1 ' +
      '64:ff9b::7f00:1 64:ff9b:1::a00:1 100::1 2001::1 2002:7f00:1:: fc00::1 fe80::1 fec0::1 ' +
      'ff02::1 4000::1'
    ).split(' '),
  )('must not be %s', (address) => {
    expect(addressIssue(address, [], 'https:')).toContain('is not public');
    const host = address.includes(':') ? `[${address}]` : address;
    expect(parseWebhookUrl(`https://${host}/hook`, [])).toEqual({
      issue: expect.stringContaining('is not public') as string,
    });
  });

  test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'may be %s',
    (address) => {
      expect(addressIssue(address, [], 'https:')).toBeUndefined();
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
    expect(parseWebhookUrl(url, [])).toEqual({ issue: expect.stringContaining(issue) as string });
  });

  test('may be of an allowed network, in IPv4, IPv4-mapped and IPv6', () => {
    const networks = ['10.0.0.0/8', 'fd00::/8', '127.0.0.1'];
    for (const allowed of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '127.0.0.1']) {
      expect(addressIssue(allowed, networks, 'http:')).toBeUndefined();
    }
    for (const other of ['127.0.0.2', '192.168.0.1', 'fc00::1', '::1']) {
      expect(addressIssue(other, networks, 'https:')).toContain('is not public');
    }
    expect(parseWebhookUrl('http://10.0.0.1:8080/hook', networks)).toEqual({
      url: 'http://10.0.0.1:8080/hook',
    });
    expect(parseWebhookUrl('http://8.8.8.8/', networks)).toEqual({
      issue: expect.stringContaining('without TLS') as string,
    });
  });
});

describe('a name', () => {
  const lookUp = (protocol: string, ...addresses: string[]) =>
    promisify(createCheckedLookup([], protocol, () => Promise.resolve(addresses)))('hook.example', {
      all: true,
    });

  test('leads to the addresses that were checked, without those that are not public', async () => {
    expect(await lookUp('https:', '8.8.8.8', '127.0.0.1', '::1')).toEqual([
      { address: '8.8.8.8', family: 4 },
    ]);
  });

  test('leads nowhere if no address of it may be used', async () => {
    await expect(lookUp('https:', '127.0.0.1', 'fe80::1')).rejects.toThrow('hook.example leads to 127.0.0.1');
    await expect(lookUp('http:', '8.8.8.8')).rejects.toThrow('hook.example leads to 8.8.8.8 without TLS');
    await expect(lookUp('https:')).rejects.toThrow('leads nowhere');
  });

  test('whose server never responds is given up, and others are resolved at the same time', async () => {
    const silent = createSocket('udp4');
    onTestFinished(() => void silent.close());
    silent.bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const startedAt = performance.now();
    const servers = [`127.0.0.1:${silent.address().port}`];
    await expect(resolveAddresses('hook.example', servers)).rejects.toThrow(/ETIMEOUT|ECANCELLED/);
    expect(performance.now() - startedAt).toBeLessThan(6000);
  });
});
