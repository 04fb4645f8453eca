import { glob, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '#runtime/environment.ts';
import { describe, expect, test } from 'vitest';
import { loadConfig, type Config } from '../../../../../gateway/platform/config/config.ts';

const notRedis =
  'is not a URL such as redis://127.0.0.1:6379 or redis+sentinel://host1:26379,host2:26379/mymaster or redis+cluster://host1:6379,host2:6379';

function issuesOf(env: NodeJS.ProcessEnv, check = (_config: Config) => {}): readonly string[] {
  try {
    check(loadConfig(env));
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
  return [];
}

describe('settings', () => {
  // gateway/REFERENCE.md has the other defaults, and a test holds it.
  test('start one worker per core in production, unless GATEWAY_WORKERS is set', () => {
    const NODE_ENV = 'production';
    const cores = Math.min(availableParallelism(), 256);
    expect(loadConfig({ NODE_ENV })).toEqual({ ...loadConfig({}), workers: cores });
    expect(loadConfig({ NODE_ENV, GATEWAY_WORKERS: '3' }).workers).toBe(3);
    expect(loadConfig({ NODE_ENV: 'test' })).toMatchObject({ workers: 1, dataDir: resolve('.data') });
  });

  test.each<[name: string, text: string, setting: object]>([
    ['GATEWAY_HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['GATEWAY_PORT', '0', { port: 0 }],
    ['GATEWAY_ADMIN_HOST', '::1', { adminHost: '::1' }],
    ['GATEWAY_ADMIN_PORT', '65535', { adminPort: 65_535 }],
    ['ADMIN_HOSTS', 'Gateway, gateway.internal', { adminHosts: ['gateway', 'gateway.internal'] }],
    ['ADMIN_URL', 'HTTPS://Console.example.com:8443/', { adminUrl: 'https://console.example.com:8443' }],
    ['GATEWAY_WORKERS', '256', { workers: 256 }],
    [
      'PETS_SERVICE_URL',
      'https://pets:8443/, http://10.0.0.7,HTTP://[::1]',
      { petsServiceUrls: ['https://pets:8443', 'http://10.0.0.7', 'http://[::1]'] },
    ],
    ['REDIS_URL', 'rediss://user:secret@redis:6380/1', { redisUrl: 'rediss://user:secret@redis:6380/1' }],
    ['DATA_DIR', '/var/lib/gateway', { dataDir: '/var/lib/gateway' }],
    ['LOG_LEVEL', 'debug', { logLevel: 'debug' }],
    ['PUBLIC_URL', 'https://API.example.com/animals/', { publicUrl: 'https://api.example.com/animals' }],
    [
      'CORS_ORIGINS',
      'HTTPS://App.example.com/, http://localhost:5173',
      { corsOrigins: ['https://app.example.com', 'http://localhost:5173'] },
    ],
    ['CORS_ORIGINS', '*', { corsOrigins: '*' }],
    ['SUPPORT_URL', 'HTTPS://example.com/a?b=c#top', { supportUrl: 'https://example.com/a?b=c#top' }],
    [
      'TRUST_PROXY',
      'loopback, 10.0.0.0/8,2001:db8::1',
      { trustProxy: ['loopback', '10.0.0.0/8', '2001:db8::1'] },
    ],
    ['UPSTREAM_TIMEOUT_MS', '1', { upstreamTimeoutMs: 1 }],
    ['UPSTREAM_CONNECTIONS', '99999', { upstreamConnections: 99_999 }],
    ['MAX_BODY_BYTES', '999999999999', { maxBodyBytes: 999_999_999_999 }],
    ['REQUEST_TIMEOUT_MS', '3', { limits: { requestTimeoutMs: 3, responseTimeoutMs: 6 } }],
    ['SHUTDOWN_DELAY_MS', '0', { shutdownDelayMs: 0 }],
    [
      'WEBHOOK_ALLOWED_NETWORKS',
      '10.0.0.0/8, fd00::1',
      { webhookAllowedNetworks: ['10.0.0.0/8', 'fd00::1'] },
    ],
    ['DEMO', 'true', { demo: true }],
    ['PETS_SERVICE_PORT', '4000', { petsServiceUrls: ['http://127.0.0.1:4000'] }],
    // Traces are off without the address of a collector.
    ['OTEL_TRACES_SAMPLER_ARG', '1', { tracing: undefined }],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '', { tracing: undefined }],
  ])('%s may be "%s"', (name, text, setting) => {
    expect(loadConfig({ [name]: text })).toMatchObject(setting);
  });

  test('the share of requests that are traced is a decimal number, or all', () => {
    const load = (ratio: string) =>
      loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_SAMPLER_ARG: ratio })
        .tracing;
    expect(['', '0.25', '.5', '0'].map(load)).toEqual([1, 0.25, 0.5, 0].map((ratio) => ({ ratio })));
    for (const ratio of ['1.5', '-0.1', 'half', '1e-2'])
      expect(() => load(ratio)).toThrow('is not a number from 0 to 1');
  });
});

describe('an invalid setting is reported with the reason', () => {
  const portReason = 'is not a port number from 0 to 65535';
  const timeReason = 'is not a whole number of milliseconds from 1 to 9999999';
  const hostNamesReason = 'is not a list of host names without ports, such as gateway,gateway.internal';
  const proxiesReason =
    'is not a list of IP addresses, networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal';

  test.each([
    ['GATEWAY_PORT', '65536', portReason],
    ['GATEWAY_ADMIN_PORT', '1e3', portReason],
    ['UPSTREAM_TIMEOUT_MS', '0', timeReason],
    ['REQUEST_TIMEOUT_MS', '10s', timeReason],
    ['GATEWAY_WORKERS', '0', 'is not a whole number of workers from 1 to 256'],
    ['MAX_CONNECTIONS_PER_ADDRESS', '100000', 'is not a whole number from 1 to 99999'],
    ['MAX_BODY_BYTES', '0', 'is not a whole number of bytes from 1 to 999999999999'],
    ['LOG_LEVEL', 'loud', 'is not one of fatal, error, warn, info, debug, trace, silent'],
    ['DEMO', '1', 'is neither true nor false'],
    ['ADMIN_HOSTS', 'gateway:9090', hostNamesReason],
    ['ADMIN_HOSTS', '*.example', hostNamesReason],
    ['TRUST_PROXY', 'true', proxiesReason],
    ['TRUST_PROXY', 'proxy.example', proxiesReason],
    // Express reads this as a number of hops.
    ['TRUST_PROXY', '1', proxiesReason],
    // proxy-addr throws on these at startup.
    ['TRUST_PROXY', '10.1', proxiesReason],
    ['TRUST_PROXY', '10.0.0.0/0', proxiesReason],
    // The IPv4-mapped form of 10.0.0.0/8 is ::ffff:10.0.0.0/104; these would trust no address.
    ['TRUST_PROXY', '::ffff:10.0.0.0/8', proxiesReason],
    // This would trust every IPv4 address.
    ['TRUST_PROXY', '::ffff:0:0/96', proxiesReason],
    ['INTERNAL_TOKEN_PRIVATE_KEY_FILE', ' ', 'is blank'],
  ])('%s=%s', (name, value, reason) => {
    expect(issuesOf({ [name]: value })).toEqual([`${name}="${value}" ${reason}`]);
  });

  const notSupport = 'is not a URL such as https://example.com/support or mailto:support@example.com';
  const moreThanPath = 'has more than a scheme, a host, a port and a path';
  const only = 'with a scheme, a host and a port alone, such as';
  const notOrigins = `is not a list of URLs ${only} http://127.0.0.1:3001`;
  const notOrigin = `is not a URL ${only} http://127.0.0.1:3001`;
  const notPages = `is neither * nor a list of URLs ${only} https://app.example.com`;

  test.each([
    ['PETS_SERVICE_URL', 'http://pets-1:3001,pets:3001', notOrigins],
    ['PETS_SERVICE_URL', 'ftp://user:secret@pets', notOrigins],
    ['PETS_SERVICE_URL', 'http://pets:0', notOrigins],
    ['PETS_SERVICE_URL', 'http://pets,', notOrigins],
    ['REDIS_URL', 'http://user:secret@redis', notRedis],
    ['PUBLIC_URL', 'api.example.com', 'is not a URL such as https://api.example.com'],
    ['PUBLIC_URL', 'https://user:secret@api.example.com', moreThanPath],
    ['PUBLIC_URL', 'https://api.example.com?x', moreThanPath],
    ['CORS_ORIGINS', 'app.example.com', notPages],
    ['CORS_ORIGINS', 'https://*.example.com/', notPages],
    ['CORS_ORIGINS', 'https://user:secret@app.example.com', notPages],
    ['CORS_ORIGINS', 'https://app.example.com/page', notPages],
    ['CORS_ORIGINS', 'https://app.example.com,*', notPages],
    ['ADMIN_URL', 'javascript:alert(1)', notOrigin],
    ['ADMIN_URL', 'https://user:secret@console.example.com', notOrigin],
    ['ADMIN_URL', 'https://example.com/console', notOrigin],
    ['SUPPORT_URL', 'javascript:alert(1)', notSupport],
    ['SUPPORT_URL', 'mailto:a@example.com?cc=b@example.com', notSupport],
    ['SUPPORT_URL', 'https://user:secret@example.com/', notSupport],
  ])('%s=%s, without repeating a value that may contain a password', (name, value, reason) => {
    expect(issuesOf({ [name]: value })).toEqual([`${name} ${reason}`]);
  });

  test.each(['INTERNAL_TOKEN_PRIVATE_KEY_FILE', 'TRUST_PROXY'])(
    'for %s, without repeating a key given by mistake',
    (name) => {
      const [issue, ...others] = issuesOf({ [name]: '-----BEGIN PRIVATE KEY-----\nMIGH\n' });
      expect(issue).toMatch(new RegExp(`^${name} is (a key: set it to|not) `));
      expect(issue).not.toContain('MIGH');
      expect(others).toEqual([]);
    },
  );

  test('if SERVICES_FILE and PETS_SERVICE_URL are both set', () => {
    expect(issuesOf({ SERVICES_FILE: 'services.yaml', PETS_SERVICE_URL: 'http://pets:3001' })).toEqual([
      'SERVICES_FILE and PETS_SERVICE_URL are both set: name the instances of the pets service in the file',
    ]);
    expect(issuesOf({ SERVICES_FILE: 'services.yaml', PETS_SERVICE_PORT: '0' })).toEqual([]);
  });

  test('if PETS_SERVICE_PORT is 0 and PETS_SERVICE_URL is not set', () => {
    expect(issuesOf({ PETS_SERVICE_PORT: '0' })).toEqual([
      'PETS_SERVICE_PORT="0" lets the system choose, so the gateway cannot find the pets service: set PETS_SERVICE_URL too',
    ]);
    expect(issuesOf({ PETS_SERVICE_PORT: '0', PETS_SERVICE_URL: 'http://pets:3001' })).toEqual([]);
  });

  test('together with all other invalid settings', () => {
    expect(() => loadConfig({ GATEWAY_PORT: 'x', REDIS_URL: 'x', DEMO: 'x' })).toThrow(
      new ConfigError([
        `GATEWAY_PORT="x" ${portReason}`,
        `REDIS_URL ${notRedis}`,
        'DEMO="x" is neither true nor false',
      ]),
    );
  });
});

const gateway = fileURLToPath(new URL('../../../../../gateway', import.meta.url));

test('something uses each setting', async () => {
  const files = Array.fromAsync(glob('**/*.ts', { cwd: gateway }));
  const sources = (await files).filter((file) => !file.includes('/browser/'));
  const texts = await Promise.all(sources.map((file) => readFile(join(gateway, file), 'utf8')));
  // What REDIS_URL_FILE names is the setting without FILE.
  const isUsed = (name: string) =>
    name === 'redisUrlFile' || texts.some((text) => new RegExp(`\\b${name}\\b`).test(text));
  expect(Object.keys(loadConfig({})).filter((name) => !isUsed(name))).toEqual([]);
});
