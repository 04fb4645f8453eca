import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '#runtime/environment.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig as loadGatewayConfig } from '../../../../../gateway/platform/config/config.ts';
import { loadConfig as loadPetsConfig } from '../../../../../pets-service/config.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../../../../support/kits/temporary-directory.ts';

const services = [
  {
    name: 'REDIS_URL',
    url: 'redis://gateway:hunter2@redis:6379',
    load: (env: NodeJS.ProcessEnv) => loadGatewayConfig(env).redisUrl,
  },
  {
    name: 'DATABASE_URL',
    url: 'postgresql://pets:hunter2@postgres:5432/pets',
    load: (env: NodeJS.ProcessEnv) => loadPetsConfig(env).DATABASE_URL,
  },
];

describe.each(services)('$name', ({ name, url, load }) => {
  let directory: TemporaryDirectory;
  const file = (content: string) => {
    const path = join(directory.path, 'secret');
    writeFileSync(path, content);
    return path;
  };
  const issuesOf = (env: NodeJS.ProcessEnv): readonly string[] => {
    try {
      load(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.issues;
      if (error instanceof AggregateError) return error.errors as string[];
      throw error;
    }
    return [];
  };

  beforeAll(async () => {
    directory = await temporaryDirectory();
  });
  afterAll(() => directory[Symbol.asyncDispose]());

  test.each(['', '\n', '\r\n'])('is read from the file that %j ends', (end) => {
    expect(load({ [`${name}_FILE`]: file(`${url}${end}`) })).toBe(url);
  });

  test('is set once', () => {
    expect(issuesOf({ [name]: url, [`${name}_FILE`]: file(url) })).toEqual([
      `${name}_FILE and ${name} are both set: set one`,
    ]);
  });

  test('names a file that cannot be read', () => {
    const missing = join(directory.path, 'missing');
    expect(issuesOf({ [`${name}_FILE`]: missing })).toEqual([
      `${name}_FILE="${missing}" can't be read (ENOENT)`,
    ]);
    const folder = join(directory.path, 'folder');
    mkdirSync(folder);
    expect(issuesOf({ [`${name}_FILE`]: folder })).toEqual([
      `${name}_FILE="${folder}" can't be read (EISDIR)`,
    ]);
  });

  test('names a file that holds no secret, or several', () => {
    const empty = file(' \n');
    expect(issuesOf({ [`${name}_FILE`]: empty })).toEqual([`${name}_FILE="${empty}" is empty`]);
    const two = file(`${url}\n${url}\n`);
    expect(issuesOf({ [`${name}_FILE`]: two })).toEqual([`${name}_FILE="${two}" has more than one line`]);
  });

  test('does not show a password that is in the wrong place', () => {
    expect(issuesOf({ [`${name}_FILE`]: url })).toEqual([
      `${name}_FILE is a URL: set it to the name of a file that holds the URL`,
    ]);
    const path = file('hunter2');
    const issues = issuesOf({ [`${name}_FILE`]: path, LOG_LEVEL: 'loud' });
    expect(issues[0]).toMatch(new RegExp(`^${name} in ${path} is not a URL such as `));
    expect(issues[1]).toContain('LOG_LEVEL="loud"');
    expect(issues.join()).not.toContain('hunter2');
  });
});
