import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../pets-service/config.ts';

function issuesOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof AggregateError) return error.errors as string[];
    throw error;
  }
  return [];
}

const defaults = loadConfig({});

describe('settings', () => {
  test('all have a default', () => {
    expect(defaults).toMatchObject({ DATA_DIR: resolve('.data'), INTERNAL_TOKEN_PUBLIC_KEY_FILES: [] });
    expect(defaults.PETS_SERVICE_CALLER_KEYS).toEqual([]);
  });

  test.each<[name: string, text: string, value: unknown]>([
    ['PETS_SERVICE_PORT', '0', 0],
    ['DATABASE_URL', 'postgresql://user:secret@db:5432/pets', 'postgresql://user:secret@db:5432/pets'],
    ['DATABASE_POOL_SIZE', '1000', 1000],
    ['INTERNAL_TOKEN_PUBLIC_KEY_FILES', '/run/old.pem, /run/new.pem', ['/run/old.pem', '/run/new.pem']],
    [
      'PETS_SERVICE_CALLER_KEYS',
      'billing:/keys/b:2.pem,eu-1.reports:r.pem',
      [
        { name: 'billing', path: '/keys/b:2.pem' },
        { name: 'eu-1.reports', path: 'r.pem' },
      ],
    ],
    ['SHUTDOWN_DELAY_MS', '0', 0],
    ['DEMO', 'true', true],
  ])('%s may be "%s"', (name, text, value) => {
    expect(loadConfig({ [name]: text })).toEqual({ ...defaults, [name]: value });
  });
});

describe('an invalid setting is reported with the reason', () => {
  test.each([
    ['PETS_SERVICE_PORT', '65536', 'is not a port number from 0 to 65535'],
    ['DATABASE_POOL_SIZE', '1001', 'is not a whole number from 1 to 1000'],
    ['REQUEST_TIMEOUT_MS', '5m', 'is not a whole number of milliseconds from 1 to 9999999'],
    ['LOG_LEVEL', 'INFO', 'is not one of fatal, error, warn, info, debug, trace, silent'],
    ['DEMO', 'yes', 'is neither true nor false'],
    ['PETS_SERVICE_HOST', ' ', 'is blank'],
  ])('%s=%s', (name, value, reason) => {
    expect(issuesOf({ [name]: value })).toEqual([`${name}=${JSON.stringify(value)} ${reason}`]);
  });

  test.each(['mysql://user:secret@db/pets', 'file:./pets.db', 'user:secret@db', 'postgresql:secret'])(
    'DATABASE_URL=%s, without repeating a value that may contain a password',
    (value) => {
      expect(issuesOf({ DATABASE_URL: value })).toEqual([
        'DATABASE_URL is not a URL such as postgresql://user:password@127.0.0.1:5432/pets',
      ]);
    },
  );

  test('INTERNAL_TOKEN_PUBLIC_KEY_FILES, without repeating a key given by mistake', () => {
    expect(issuesOf({ INTERNAL_TOKEN_PUBLIC_KEY_FILES: '-----BEGIN PUBLIC KEY-----\nMFkw\n' })).toEqual([
      'INTERNAL_TOKEN_PUBLIC_KEY_FILES is a key: set it to the name of a file',
    ]);
  });

  test.each(
    'billing :/a.pem billing: Billing:/a.pem gateway:/a.pem ops:/a.pem none:/a.pem fine:/a.pem,'.split(' '),
  )('PETS_SERVICE_CALLER_KEYS=%s', (value) => {
    const [issue = '', ...more] = issuesOf({ PETS_SERVICE_CALLER_KEYS: value });
    expect(issue).toContain(
      `PETS_SERVICE_CALLER_KEYS="${value}" is not a list such as billing:/keys/billing.pem`,
    );
    expect(more).toEqual([]);
  });

  test('DATABASE_URL with the parameter schema, which has no effect', () => {
    const [issue = ''] = issuesOf({ DATABASE_URL: 'postgresql://u:secret@db/pets?schema=prod' });
    expect(issue).toMatch(/^DATABASE_URL has the parameter schema/);
    expect(issue).not.toContain('secret');
  });
});
