import { mistypedSettings } from '#runtime/environment.ts';
import { expect, test } from 'vitest';
import { settings as gatewaySettings } from '../../../../../gateway/platform/config/config.ts';
import { settings as petsSettings } from '../../../../../pets-service/config.ts';

test.each([
  ['GATEWAY_WORKRS', 'GATEWAY_WORKERS'],
  ['REDIS_URI', 'REDIS_URL'],
  ['TRUST_PROXYS', 'TRUST_PROXY'],
])('%s may be meant as %s', (variable, setting) => {
  expect(mistypedSettings(gatewaySettings, { [variable]: '1' })).toEqual([[variable, setting]]);
});

test('a setting that is set as well is not meant', () => {
  expect(mistypedSettings(gatewaySettings, { REDIS_URI: '1', REDIS_URL: 'redis://127.0.0.1' })).toEqual([]);
  expect(mistypedSettings(gatewaySettings, { REDIS_URI: '1', REDIS_URL: '' })).toHaveLength(1);
});

test('settings of the other service, and variables of other programs, are none', () => {
  const others = 'PATH HOME TERM LANG PWD NODE_ENV NODE_OPTIONS HTTPS_PROXY NO_PROXY'.split(' ');
  const ofOrchestrators = (
    'GATEWAY_SERVICE_HOST GATEWAY_SERVICE_PORT GATEWAY_PORT_8080_TCP GATEWAY_PORT_8080_TCP_ADDR ' +
    'REDIS_PORT REDIS_SERVICE_HOST PETS_SERVICE_SERVICE_HOST LISTEN_FDS'
  ).split(' ');
  const env = Object.fromEntries([...others, ...ofOrchestrators].map((name) => [name, '1']));
  for (const [own, other] of [
    [gatewaySettings, petsSettings],
    [petsSettings, gatewaySettings],
  ] as const) {
    const ofOther = Object.fromEntries(Object.keys(other.shape).map((name) => [name, '1']));
    expect(mistypedSettings(own, { ...env, ...ofOther })).toEqual([]);
  }
});
