import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runProgram } from '../support/kits/service.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

/** Without Redis: nothing is asked of it. */
const redisAcl = (args: string[], input?: string) =>
  runProgram(['gateway/ops/main.ts', 'redis-acl', ...args], { REDIS_URL: 'redis://127.0.0.1:9' }, { input });
const linesOf = (stdout: string) => stdout.trimEnd().split('\n');
const wordsOf = (line = '') => line.split(' ');

describe('ops redis-acl', () => {
  test('prints a line for each user, with placeholders for the hashes of their passwords', async () => {
    const { code, stdout, stderr } = await redisAcl([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [gateway, ops, ...rest] = linesOf(stdout);
    expect(rest).toEqual([]);
    const start = (user: string) =>
      `ACL SETUSER ${user} reset on #<SHA-256 of the password of ${user}> resetchannels ~gw:[^a]* ~gw:an* -@all `;
    expect(gateway?.startsWith(start('gateway'))).toBe(true);
    expect(ops?.startsWith(start('ops'))).toBe(true);
    // No categories, no wildcards, no administration.
    const commands = [gateway, ops].map((line) =>
      wordsOf(
        line
          ?.split(/ -@all | \(~gw:audit|\)/)
          .slice(1)
          .join(' '),
      ).filter((word) => word !== ''),
    );
    for (const command of commands.flat()) expect(command).toMatch(/^\+[a-z|]+$/);
    expect(
      commands.flat().filter((command) => /acl|config|flush|keys|shutdown|script|debug/.test(command)),
    ).toEqual([]);
    // What only the other one sends: new changes for `audit --follow`, and a request that counts.
    expect(commands[0]).not.toContain('+xread');
    expect(commands[1]).not.toContain('+incr');
  });

  test('readers prints a user for each person, who reads everything but the secrets of webhooks, and writes one key', async () => {
    const { code, stdout, stderr } = await redisAcl(['readers', 'ada', 'bob', '--redis-version', '7.0']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = linesOf(stdout);
    for (const [index, name] of ['ada', 'bob'].entries()) {
      const start = `ACL SETUSER reader-${name} reset on #<SHA-256 of the password of reader-${name}> resetchannels ~gw:[^w]* ~gw:webhooks* -@all +`;
      expect(lines[index]?.startsWith(start)).toBe(true);
      expect(lines[index]?.endsWith(` (~gw:console:reader:${name} -@all +psetex)`)).toBe(true);
    }
    const passwords = ['--passwords', 'stdin', '--format', 'aclfile'];
    const file = await redisAcl(['readers', 'ada', ...passwords], 'password-of-the-reader-ada\n');
    expect(file.stdout).toMatch(
      /^user reader-ada on #[\da-f]{64} resetchannels ~gw:\[\^w\]\* ~gw:webhooks\* /,
    );
    const short = await redisAcl(['readers', 'ada', 'bob', ...passwords], 'password-of-the-reader-ada\n');
    expect({ code: short.code, stdout: short.stdout }).toEqual({ code: 2, stdout: '' });
    expect(short.stderr).toContain('must be 2 lines, the password of each person in the order of the names');
  });

  test('takes names, and adds what a cluster and Sentinels need', async () => {
    const named = await redisAcl(['--gateway-user', 'edge', '--ops-user', 'admin.ops', '--cluster']);
    const [gateway, ops] = linesOf(named.stdout).map(wordsOf);
    expect([gateway?.[2], ops?.[2]]).toEqual(['edge', 'admin.ops']);
    for (const words of [gateway, ops]) {
      expect(words).toEqual(expect.arrayContaining(['+asking', '+cluster|info', '+cluster|slots']));
    }
    const sentinel = linesOf((await redisAcl(['--sentinel', '--redis-version', '7.0'])).stdout);
    expect(sentinel.map((line) => line.split('resetchannels ')[1])).toEqual(
      Array.from(
        { length: 2 },
        () => '&+switch-master -@all +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe',
      ),
    );
  });

  test.each([
    [['--ops-user', 'gateway'], /both users are called gateway/],
    [['--ops-user', 'a b'], /'a b' is invalid\. It has to be 1 to 64 letters/],
    [['--gateway-user', 'default'], /'default' is invalid\. That user is for/],
    [['--ops-user', 'reader-ada'], /'reader-ada' is invalid\. Such a name is for readers/],
    [['reader'], /unknown command 'reader' \(Did you mean readers\?\)/],
    [['readers'], /missing required argument 'name'/],
    [['readers', 'ada', 'a.b'], /the name 'a\.b' must be 1 to 40 letters, digits, hyphens or underscores/],
    [['readers', 'ada', 'ada'], /a name is given twice/],
    [['readers', 'ada', '--redis-version', '6.2'], /readers need Redis 7\.0/],
    [['--redis-version', '5.0'], /'5\.0' is invalid\. It has to be a version from 6\.2 on/],
    [['--redis-version', 'latest'], /It has to be a version from 6\.2 on, such as 7\.2/],
    [['--passwords', 'hunter2'], /Allowed choices are placeholder, generate, stdin/],
    [['--cluster', '--sentinel'], /'--cluster' cannot be used with option '--sentinel'/],
  ])('refuses %j', async (args, message) => {
    const { code, stdout, stderr } = await redisAcl(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test.each([
    ['', /must be two lines/],
    ['only-one-password-here\n', /must be two lines/],
    ['first-password-here\nsecond-password-here\nthird-password-here\n', /must be two lines/],
    ['the-same-password-twice\nthe-same-password-twice\n', /both passwords are the same/],
    ['a-password-that-is-long\nhunter2\n', /less than 16 characters/],
  ])('refuses passwords on standard input without repeating them: %j', async (input, message) => {
    const { code, stdout, stderr } = await redisAcl(['--passwords', 'stdin'], input);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/hunter2|password-that|password-twice/);
  });

  test(
    'generated passwords are in the JSON, and otherwise on standard error only, and log in',
    { tags: ['redis-server'] },
    async () => {
      const json = await redisAcl(['--passwords', 'generate', '--json', '--redis-version', '7.0']);
      const users = JSON.parse(json.stdout) as { user: string; acl: string; password: string }[];
      expect(users.map(({ user }) => user)).toEqual(['gateway', 'ops']);
      const { stdout, stderr } = await redisAcl(['--passwords', 'generate', '--redis-version', '7.0']);
      const shown = Array.from(stderr.matchAll(/^ops: password of (\w+), shown this once: (\w{48})$/gm));
      expect(shown.map(([, user]) => user)).toEqual(['gateway', 'ops']);
      for (const [, , password = ''] of shown) expect(stdout).not.toContain(password);

      await using server = await startRedisServer();
      for (const { acl } of users) await server.redis.call('ACL', ...wordsOf(acl).slice(1));
      for (const { user, password } of users) {
        const redis = new Redis(server.port, '127.0.0.1', { username: user, password });
        expect(await redis.hget('gw:plan:free', 'minute')).toBeNull();
        await expect(redis.get('other')).rejects.toThrow('NOPERM');
        await expect(redis.acl('LIST')).rejects.toThrow('NOPERM');
        redis.disconnect();
      }
      // A placeholder is not taken for a password.
      const [placeholder = ''] = linesOf((await redisAcl(['--redis-version', '7.0'])).stdout);
      await expect(server.redis.call('ACL', ...wordsOf(placeholder).slice(1))).rejects.toThrow(
        'Error in ACL SETUSER',
      );
    },
  );

  test('--format aclfile is a file that Redis starts with', { tags: ['redis-server'] }, async () => {
    const { stdout } = await redisAcl(
      ['--format', 'aclfile', '--passwords', 'stdin', '--redis-version', '7.0'],
      'password-of-the-gateway\npassword-of-the-ops-command\n',
    );
    await using server = await startRedisProcess((directory) => ['--aclfile', join(directory, 'users.acl')], {
      prepare: (directory) => writeFile(join(directory, 'users.acl'), stdout),
    });
    expect((await server.redis.acl('USERS')).toSorted()).toEqual(['default', 'gateway', 'ops']);
    const redis = new Redis(server.port, '127.0.0.1', {
      username: 'ops',
      password: 'password-of-the-ops-command',
    });
    expect(await redis.hlen('gw:key-ids')).toBe(0);
    redis.disconnect();
  });
});

describe('a Redis whose settings may lose data', { tags: ['redis-server'], timeout: 120_000 }, () => {
  let kit: OpsKit;
  beforeAll(async () => {
    kit = await startOpsKit();
    await kit.server.redis.config(
      'SET',
      'maxmemory',
      '1gb',
      'maxmemory-policy',
      'allkeys-lru',
      'appendonly',
      'no',
    );
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  const warnings = [
    'ops: warning: Redis: maxmemory-policy is allkeys-lru, which evicts API keys when memory is full: set noeviction',
    'ops: warning: Redis: appendonly is off, so a restart of Redis may lose API keys and counters: set it to yes',
  ];

  test('is named once by a command that changes something, on standard error', async () => {
    const { code, stdout, stderr } = await kit.run(
      'keys',
      'issue',
      '--plan',
      'free',
      '--name',
      'A',
      '--json',
    );
    expect({ code, lines: stderr.trimEnd().split('\n') }).toEqual({ code: 0, lines: warnings });
    expect(JSON.parse(stdout)).not.toHaveProperty('warning');
  });

  test('is not named by a command that reads', async () => {
    expect(await kit.run('keys', 'list')).toMatchObject({ code: 0, stderr: '' });
  });
});
