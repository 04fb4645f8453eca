import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defaultPlans } from '../../gateway/limits/limits.ts';
import { textFields } from '../../gateway/platform/redis/enforced-settings.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { defaultBanPolicy } from '../../gateway/quota/ban-policy.ts';
import { snapshot, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { answerOnTerminal } from '../support/kits/terminal.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a file of plans', { timeout: 120_000 }, () => {
  let file: string;

  const kit = shared(startOpsKit);
  const directory = shared(temporaryDirectory);
  beforeAll(() => {
    file = join(directory.path, 'plans.yaml');
  });

  beforeEach(async () => {
    const own = (await kit.redis.smembers(redisKeys.planNames)).filter(
      (name) => !Object.hasOwn(defaultPlans, name),
    );
    await Promise.all(own.map((name) => kit.redis.del(redisKeys.plan(name))));
    if (own.length > 0) await kit.redis.srem(redisKeys.planNames, ...own);
    for (const [name, limits] of Object.entries(defaultPlans)) {
      await kit.redis.hset(redisKeys.plan(name), limits);
    }
    await kit.redis.hset(redisKeys.plan('anonymous'), { minute: 60 });
    await kit.redis.hset(redisKeys.banPolicy, textFields(defaultBanPolicy));
    // A test may have made it something else than a hash.
    await kit.redis.del(redisKeys.usagePolicy);
    await kit.redis.hset(redisKeys.usagePolicy, { retentionDays: 400 });
  });

  const ops: OpsKit['run'] = (...args) => kit.run(...args);
  const write = (text: string) => writeFile(file, text);
  const hash = (key: string) => kit.redis.hgetall(key);
  const policyLines = Object.entries(defaultBanPolicy).map(([field, value]) => `  ${field}: ${value}\n`);

  test('is exported, applied with its changes to everything, and then says "no changes"', async () => {
    await kit.redis.hset(redisKeys.plan('gold'), { minute: 2000, day: 500_000 });
    await kit.redis.sadd(redisKeys.planNames, 'gold');
    await kit.redis.hset(redisKeys.usagePolicy, { retentionDays: 400 });
    expect(await ops('plans', 'export', file)).toEqual({ code: 0, stdout: '', stderr: '' });
    const exported = await readFile(file, 'utf8');
    expect((await ops('plans', 'export')).stdout.split('\n').slice(1)).toEqual(exported.split('\n').slice(1));
    const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)\n/.exec(exported) ?? [];
    expect(await readFile(join(file, '..', schema), 'utf8')).toContain(
      'Plans and ban policy of the API gateway',
    );
    expect(await ops('plans', 'diff', file)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });

    const changed = exported
      .replace('minute: 300', 'minute: 200')
      .replace('  gold:', '  silver:\n    minute: 7\n    day: 8\n  gold:')
      .replace('minute: 60 #', 'minute: 70 #')
      .replace('strikes: 60', 'strikes: 80')
      .replace('retentionDays: 400', 'retentionDays: 30');
    await write(changed);
    const diff = [
      'plans.pro  0 customers',
      '  minute  300 → 200',
      'plans.silver  new  0 customers',
      '  minute  - → 7',
      '  day     - → 8',
      'anonymous',
      '  minute  60 → 70',
      'banPolicy',
      '  strikes  60 → 80',
      'usage',
      '  retentionDays  400 → 30',
      '',
    ].join('\n');
    const before = await snapshot(kit.redis);
    expect(await ops('plans', 'diff', file)).toEqual({ code: 1, stdout: diff, stderr: '' });
    expect(await ops('plans', 'apply', file, '--dry-run')).toEqual({
      code: 0,
      stdout: `${diff}5 changes, not applied\n`,
      stderr: '',
    });
    expect(await snapshot(kit.redis)).toEqual(before);

    expect(await ops('plans', 'apply', file, '--as', 'eve')).toEqual({
      code: 0,
      stdout: `${diff}5 changes applied\n`,
      stderr: '',
    });
    expect(await hash(redisKeys.plan('pro'))).toEqual({ minute: '200', day: '10000' });
    expect(await hash(redisKeys.plan('silver'))).toEqual({ minute: '7', day: '8' });
    expect(await kit.redis.sismember(redisKeys.planNames, 'silver')).toBe(1);
    expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '70' });
    expect(await hash(redisKeys.banPolicy)).toEqual({ ...textFields(defaultBanPolicy), strikes: '80' });
    expect(await hash(redisKeys.usagePolicy)).toEqual({ retentionDays: '30' });
    expect(await kit.json('audit', '--count', '5')).toMatchObject([
      {
        who: 'eve',
        action: 'plans.set',
        target: 'pro',
        before: { minute: 300 },
        after: { name: 'pro', minute: 200 },
      },
      { who: 'eve', action: 'plans.set', target: 'silver', before: null, after: { minute: 7, day: 8 } },
      { who: 'eve', action: 'plans.set', target: 'anonymous', before: { minute: 60 }, after: { minute: 70 } },
      {
        who: 'eve',
        action: 'policy.set',
        before: { strikes: 60 },
        after: { ...defaultBanPolicy, strikes: 80 },
      },
      { who: 'eve', action: 'usage.retention', before: { retentionDays: 400 }, after: { retentionDays: 30 } },
    ]);
    const applied = await snapshot(kit.redis);
    expect(await ops('plans', 'apply', file)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
    expect(await snapshot(kit.redis)).toEqual(applied);
  });

  test('what the file lacks stays as it is, and --prune removes plans without customers', async () => {
    await kit.json('plans', 'set', 'old', '--create', '--minute', '1', '--day', '2');
    await write(
      'plans:\n  free: {minute: 60, day: 1000}\n  pro: {minute: 300, day: 10000}\n  business: {minute: 1000, day: 100000}\n',
    );
    expect(await ops('plans', 'diff', file)).toEqual({
      code: 0,
      stdout: 'plans.old  not in the file, stays as it is; --prune removes it\nno changes\n',
      stderr: '',
    });
    expect((await ops('plans', 'diff', file, '--prune')).code).toBe(1);
    expect(await ops('plans', 'apply', file, '--prune')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^ops: Apply 1 change, of which 1 removes .+ \(old\)\? There is no terminal .+ --yes/,
      ) as string,
    });
    expect(await hash(redisKeys.plan('old'))).toEqual({ minute: '1', day: '2' });
    expect(await ops('plans', 'apply', file, '--prune', '--yes')).toEqual({
      code: 0,
      stdout: 'plans.old  removed  0 customers\n  minute  1 → -\n  day     2 → -\n1 change applied\n',
      stderr: '',
    });
    expect(await kit.redis.exists(redisKeys.plan('old'))).toBe(0);
    expect(await kit.redis.sismember(redisKeys.planNames, 'old')).toBe(0);
    expect((await ops('plans', 'apply', file, '--prune')).stdout).toBe('no changes\n');
  });

  test('--prune is refused for plans with customers, also lost ones that only gateways enforce, and for built-in ones', async () => {
    await kit.json('plans', 'set', 'used', '--create', '--minute', '10', '--day', '20');
    const { key, customerId } = await kit.issue({ plan: 'used' });
    await kit.pets(key);
    // The gateway adds the plan to gw:settings when it publishes what it enforces.
    await expect.poll(async () => (await kit.run('plans', 'list')).stdout).toMatch(/used .+ 1 of 1/);
    const all = 'free: {minute: 1, day: 2}, pro: {minute: 3, day: 4}, business: {minute: 5, day: 6}';
    await write(`plans: {${all}}`);
    const before = await snapshot(kit.redis);
    const refused = await ops('plans', 'apply', file, '--prune', '--yes');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^ops: 1 customer is on used: move them to another plan first; no plan was removed/,
    );
    expect(await snapshot(kit.redis)).toEqual(before);

    await kit.redis.del(redisKeys.plan('used'));
    await kit.redis.srem(redisKeys.planNames, 'used');
    expect((await ops('plans', 'apply', file, '--prune', '--yes')).stderr).toContain('1 customer is on used');
    expect(await hash(redisKeys.plan('free'))).toEqual({ minute: '60', day: '1000' });
    await kit.redis.hset(redisKeys.customer(customerId), 'plan', 'free');

    await write('plans: {free: {minute: 1, day: 2}}');
    const builtIn = await ops('plans', 'apply', file, '--prune', '--yes');
    expect(builtIn).toMatchObject({ code: 2, stdout: '' });
    expect(builtIn.stderr).toContain(
      "pro can't be removed: free, pro, business, enterprise and anonymous always exist",
    );
    await write('anonymous: {minute: 5}');
    expect((await ops('plans', 'apply', file, '--prune', '--yes')).stderr).toContain('has no section plans');
    expect(await hash(redisKeys.plan('free'))).toEqual({ minute: '60', day: '1000' });
  });

  test('an invalid file names line and field, and changes nothing', async () => {
    await write(
      `plans:\n  free: {minute: 1, day: 2}\nbanPolicy:\n${policyLines.join('').replace('strikes: 60', 'strikes: many')}`,
    );
    const before = await snapshot(kit.redis);
    for (const command of ['apply', 'diff']) {
      expect(await ops('plans', command, file)).toEqual({
        code: 2,
        stdout: '',
        stderr: `ops: ${file}:6:3: banPolicy.strikes is not a whole number from 1 to 1000000: "many"\n`,
      });
    }
    await write(`plans: {pets_${'a'.repeat(38)}: 1}`);
    expect((await ops('plans', 'apply', file)).stderr).not.toContain('a'.repeat(10));
    expect(await snapshot(kit.redis)).toEqual(before);
  });

  test('a day limit below the minute limit is applied with a warning', async () => {
    await write('plans: {odd: {minute: 10, day: 9}}');
    expect(await ops('plans', 'apply', file)).toMatchObject({
      code: 0,
      stderr: 'ops: warning: the day limit of odd, 9, is less than its minute limit, 10\n',
    });
    expect(await hash(redisKeys.plan('odd'))).toEqual({ minute: '10', day: '9' });
  });

  test('a plan may have a limit of any window, and of any other one in its place', async () => {
    await write('plans: {hourly: {hour: 50}}');
    expect(await ops('plans', 'apply', file)).toMatchObject({ code: 0, stderr: '' });
    expect(await hash(redisKeys.plan('hourly'))).toEqual({ hour: '50' });
    expect(await ops('plans', 'export', file)).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await readFile(file, 'utf8')).toContain('  hourly:\n    hour: 50\n\n');
    expect(await ops('plans', 'diff', file)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
    await write('plans: {hourly: {month: 900}}');
    expect((await ops('plans', 'apply', file)).stdout).toMatch(/^ {2}hour +50 → -\n {2}month +- → 900$/m);
    expect(await hash(redisKeys.plan('hourly'))).toEqual({ month: '900' });
  });

  test('is read from standard input', async () => {
    const child = spawn(
      process.execPath,
      ['gateway/faces/command/main.ts', 'plans', 'apply', '-', '--json'],
      {
        cwd: root,
        env: { REDIS_URL: kit.server.url },
      },
    );
    child.stdin.end('anonymous: {minute: 44}');
    const exited = new Promise((resolve) => child.once('close', resolve));
    let stdout = '';
    for await (const chunk of child.stdout) stdout += String(chunk);
    expect(await exited).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      changes: [{ setting: 'anonymous', before: { minute: 60 }, after: { minute: 44 } }],
      unlisted: [],
      applied: true,
    });
    expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '44' });
  });

  test('on a terminal, apply asks after it has shown the diff', { tags: ['script'] }, async () => {
    await write('anonymous: {minute: 45}');
    const apply = (answer: string) =>
      answerOnTerminal(
        ['gateway/faces/command/main.ts', 'plans', 'apply', file],
        { REDIS_URL: kit.server.url },
        answer,
      );
    const refused = await apply('n');
    expect(refused).toContain('minute  \u{1B}[31m60\u{1B}[39m → \u{1B}[32m45\u{1B}[39m');
    expect(refused).toMatch(/→[^]+Apply 1 change\? \[y\/N\]/);
    expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '60' });
    expect(await apply('yes')).toContain('1 change applied');
    expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '45' });
  });

  test(
    'a change by somebody else between the question and the answer is noticed, and nothing is applied',
    { tags: ['script'] },
    async () => {
      await write('plans: {free: {minute: 1, day: 2}}\nanonymous: {minute: 45}');
      let changed = false;
      const output = await answerOnTerminal(
        ['gateway/faces/command/main.ts', 'plans', 'apply', file],
        { REDIS_URL: kit.server.url },
        'y',
        async () => {
          await kit.redis.hset(redisKeys.plan('anonymous'), { minute: 77 });
          changed = true;
        },
      );
      expect(changed).toBe(true);
      expect(output).toContain(
        'somebody else has changed the settings since they were read; try again',
      );
      expect(await hash(redisKeys.plan('free'))).toEqual({ minute: '60', day: '1000' });
      expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '77' });
    },
  );

  test('an export that does not fit on the disk leaves the file as it was, or none', async () => {
    const fresh = join(dirname(file), 'fresh.yaml');
    await write('kept\n');
    for (const path of [file, fresh]) {
      const limited = [
        '-c',
        'ulimit -f 1; exec "$0" gateway/faces/command/main.ts plans export "$1"',
        process.execPath,
      ];
      const child = spawn('bash', [...limited, path], {
        cwd: root,
        env: { ...process.env, REDIS_URL: kit.server.url },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      const [[code], stderr] = await Promise.all([
        once(child, 'close') as Promise<[number]>,
        text(child.stderr),
      ]);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `ops: can't write ${path}: EFBIG: file too large, write\n`,
      });
    }
    expect(await readFile(file, 'utf8')).toBe('kept\n');
    await expect(readFile(fresh)).rejects.toThrow('ENOENT');
  });

  test('lost settings are exported as running gateways enforce them', async () => {
    const { key } = await kit.issue({ plan: 'pro' });
    await kit.redis.hset(redisKeys.plan('pro'), { minute: 321 });
    await expect.poll(async () => (await kit.pets(key)).header('X-RateLimit-Limit')).toBe('321');
    await expect.poll(async () => (await ops('plans', 'list')).stdout).toMatch(/pro .+ 1 of 1/);
    await kit.redis.del(redisKeys.plan('pro'), redisKeys.banPolicy);
    const { code, stdout, stderr } = await ops('plans', 'export');
    expect(code).toBe(0);
    expect(stdout).toContain('  pro:\n    minute: 321\n    day: 10000\n');
    expect(stdout).toContain('  strikes: 60 #');
    expect(stderr).toBe(
      'ops: warning: gw:plan:pro: is not set; exported is what running gateways enforce\n' +
        'ops: warning: gw:ban-policy: is not set; exported is what running gateways enforce\n',
    );
    await kit.redis.sadd(redisKeys.planNames, 'nowhere');
    const incomplete = await ops('plans', 'export', file);
    expect(incomplete.code).toBe(1);
    expect(incomplete.stderr).toMatch(/^ops: nothing was exported: gw:plan:nowhere: is not set, and .+\n$/);
  });
});
