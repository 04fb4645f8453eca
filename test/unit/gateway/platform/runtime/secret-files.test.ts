import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '#runtime/environment.ts';
import { describe, expect, test } from 'vitest';
import { loadConfig as loadGatewayConfig } from '../../../../../gateway/platform/config/config.ts';
import { loadConfig as loadPetsConfig } from '../../../../../pets-service/config.ts';
import { shared } from '../../../../support/kits/shared.ts';
import { temporaryDirectory } from '../../../../support/kits/temporary-directory.ts';

const services = [
  {
    name: 'REDIS_URL',
    url: 'redis://gateway:hunter2@redis:6379',
    load: (env: NodeJS.ProcessEnv) => loadGatewayConfig(env).redisUrl,
  },
  // A migration reads it in the same way.
  {
    name: 'DATABASE_URL',
    url: 'postgresql://pets:hunter2@postgres:5432/pets',
    load: (env: NodeJS.ProcessEnv) => loadPetsConfig(env).DATABASE_URL,
  },
];

describe.each(services)('$name', ({ name, url, load }) => {
  const setting = `${name}_FILE`;
  const directory = shared(temporaryDirectory);
  const pathOf = (file: string) => join(directory.path, file);
  const file = (content: string) => {
    writeFileSync(pathOf('secret'), content);
    return pathOf('secret');
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

  test.each(['', '\n', '\r\n'])('is read from the file that %j ends', (end) => {
    expect(load({ [setting]: file(`${url}${end}`) })).toBe(url);
  });

  test('is set once, and not at all if it is empty', () => {
    expect(issuesOf({ [name]: url, [setting]: file(url) })).toEqual([
      `${setting} and ${name} are both set: set one`,
    ]);
    expect(load({ [name]: '', [setting]: '' })).toBeUndefined();
  });

  test('names a file that cannot be read, that holds no secret, or several', () => {
    mkdirSync(pathOf('folder'));
    writeFileSync(pathOf('empty'), ' \n');
    writeFileSync(pathOf('two'), `${url}\n${url}\n`);
    for (const [path, issue] of [
      ['missing', "can't be read (ENOENT)"],
      ['folder', "can't be read (EISDIR)"],
      ['empty', 'is empty'],
      ['two', 'has more than one line'],
    ] as const)
      expect(issuesOf({ [setting]: pathOf(path) })).toEqual([`${setting}="${pathOf(path)}" ${issue}`]);
  });

  test('does not show a password that is in the wrong place', () => {
    expect(issuesOf({ [setting]: url })).toEqual([
      `${setting} is a URL: set it to the name of a file that holds the URL`,
    ]);
    const path = file('hunter2');
    const issues = issuesOf({ [setting]: path, LOG_LEVEL: 'loud' });
    expect(issues[0]).toMatch(new RegExp(`^${name} in ${path} is not a URL such as `));
    expect(issues[1]).toContain('LOG_LEVEL="loud"');
    expect(issues.join()).not.toContain('hunter2');
  });
});
