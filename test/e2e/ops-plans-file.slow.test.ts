import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { defaultPlans } from '../../gateway/limits/limits.ts';
import { textFields } from '../../gateway/platform/redis/enforced-settings.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { defaultBanPolicy } from '../../gateway/quota/ban-policy.ts';
import { snapshot, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

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
    const { stdout: exported } = await ops('plans', 'export');
    await write(exported);
    expect(await ops('plans', 'diff', file)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });

    const changed = exported
      .replace('minute: 300', 'minute: 200')
      .replace('  gold:', '  silver:\n    minute: 7\n    day: 8\n  gold:')
      .replace('anonymous:\n  minute: 60', 'anonymous:\n  minute: 70')
      .replace('strikes: 60', 'strikes: 80')
      .replace('retentionDays: 400', 'retentionDays: 30');
    await write(changed);
    const diff = [
      'plans.pro',
      '  minute  300 → 200',
      'plans.silver  new',
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
    const { stdout } = await ops('plans', 'export');
    expect(stdout).toContain('  hourly:\n    hour: 50\n');
    await write(stdout);
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
      applied: true,
    });
    expect(await hash(redisKeys.plan('anonymous'))).toEqual({ minute: '44' });
  });

  test('what the file lacks stays as it is, and an export that would be incomplete fails', async () => {
    await kit.json('plans', 'set', 'old', '--create', '--minute', '1', '--day', '2');
    await write('plans: {free: {minute: 60, day: 1000}}');
    expect(await ops('plans', 'apply', file)).toEqual({ code: 0, stdout: 'no changes\n', stderr: '' });
    expect(await hash(redisKeys.plan('old'))).toEqual({ minute: '1', day: '2' });
    await kit.redis.hset(redisKeys.banPolicy, 'strikes', 'many');
    await kit.redis.sadd(redisKeys.planNames, 'nowhere');
    expect(await ops('plans', 'export')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'ops: nothing was exported: gw:plan:nowhere: is not set; gw:ban-policy: strikes is not a whole number from 1 to 1000000\n',
    });
  });
});
