import type { ConfigError } from '#runtime/environment.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  settings as gatewaySettings,
  loadConfig as loadGatewayConfig,
} from '../../../../../gateway/platform/config/config.ts';
import {
  loadConfig as loadPetsConfig,
  settings as petsSettings,
} from '../../../../../pets-service/config.ts';

const names = [...Object.keys(gatewaySettings.shape), ...Object.keys(petsSettings.shape)];

const password = 'hunter2-in-a-url';
const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.integer().map(String),
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4().map((address) => `${address}/8,loopback`),
  fc.webUrl(),
  fc.constantFrom('true', 'false', '', ' ', '0', '65535', '-1', '1e3', 'info', 'loopback', '10.0.0.0/8'),
  fc
    .tuple(fc.constantFrom('redis', 'rediss', 'postgresql', 'http', 'htp', ' redis', 'redis:'), fc.string())
    .map(([scheme, rest]) => `${scheme}://user:${password}@${rest}`),
);
const env = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 8 });

test.each([
  ['the gateway', loadGatewayConfig],
  ['the pets service', loadPetsConfig],
])('%s accepts its settings or names each invalid one, without passwords', (_name, load) => {
  fc.assert(
    fc.property(env, (env) => {
      let thrown: unknown;
      try {
        const config = load(env);
        expect(Object.isFrozen(config)).toBe(true);
        expect(Object.values(config).filter((setting) => Number.isNaN(setting))).toEqual([]);
        return;
      } catch (error) {
        thrown = error;
      }
      const issues =
        thrown instanceof AggregateError ? (thrown.errors as string[]) : (thrown as ConfigError).issues;
      expect(issues.length).toBeGreaterThan(0);
      for (const issue of issues) {
        expect(names.filter((name) => issue.startsWith(name))).not.toEqual([]);
        // Each issue is printed on one line at startup.
        expect(issue).not.toMatch(/[\n\r]/);
      }
      const passwordOnlyInUrls = Object.entries(env).every(
        ([name, text]) => name.endsWith('_URL') || !text.includes(password),
      );
      if (passwordOnlyInUrls) expect((thrown as Error).message).not.toContain(password);
    }),
    { numRuns: 3000 },
  );
});
