import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../../../gateway/platform/config/config.ts';
import {
  adminHostNames,
  consoleLink,
  consoleOrigin,
} from '../../../../../gateway/platform/config/endpoints.ts';

describe('the address of the console', () => {
  test.each([
    ['127.0.0.1', 'http://localhost:1234'],
    ['0.0.0.0', 'http://localhost:1234'],
    ['::', 'http://localhost:1234'],
    ['::1', 'http://localhost:1234'],
    ['10.0.0.7', 'http://10.0.0.7:1234'],
    ['2001:db8::1', 'http://[2001:db8::1]:1234'],
    ['gateway.internal', 'http://gateway.internal:1234'],
  ])('of a gateway that listens on %s is %s', (host, origin) => {
    expect(consoleOrigin(loadConfig({ GATEWAY_ADMIN_HOST: host }), 1234)).toBe(origin);
  });

  test('is ADMIN_URL if that is set, whose host the admin port then responds to', () => {
    const config = loadConfig({ ADMIN_URL: 'https://console.example.com:8443', ADMIN_HOSTS: 'gateway' });
    expect(consoleOrigin(config, 1234)).toBe('https://console.example.com:8443');
    expect(adminHostNames(config)).toEqual(['gateway', '127.0.0.1', 'console.example.com']);
  });

  test('has the code in the fragment, which browsers send to nobody', () => {
    const link = new URL(consoleLink('http://localhost:9090', 'x'));
    expect([link.pathname, link.search, link.hash]).toEqual(['/console', '', '#code=x']);
  });
});
