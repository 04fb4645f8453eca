import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { textFields } from '../../gateway/platform/redis/settings.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { snapshot, startOpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

describe('a file of plans', { timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);
  const directory = shared(temporaryDirectory);
  const fileOfPlans = () => join(directory.path, 'plans.yaml');
  const ops = (...args: string[]) => kit.run(...args);
  const write = (text: string) => writeFile(fileOfPlans(), text);
  const hash = (key: string) => kit.redis.hgetall(key);

  test('is exported, applied with its changes to everything, and then says "no changes"', async () => {
    await kit.redis.hset(redisKeys.plan('gold'), { minute: 2000, day: 500_000 });
    await kit.redis.sadd(redisKeys.planNames, 'gold');
    await kit.redis.hset(redisKeys.usagePolicy, { retentionDays: 400 });
    const { stdout: exported } = await ops('plans', 'export');
    await write(exported);
    expect(await ops('plans', 'diff', fileOfPlans())).toEqual({
      code: 0,
      stdout: 'no changes\n',
      stderr: '',
    });

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
    expect(await ops('plans', 'diff', fileOfPlans())).toEqual({ code: 1, stdout: diff, stderr: '' });
    expect(await ops('plans', 'apply', fileOfPlans(), '--dry-run')).toEqual({
      code: 0,
      stdout: `${diff}5 changes, not applied\n`,
      stderr: '',
    });
    expect(await snapshot(kit.redis)).toEqual(before);

    expect(await ops('plans', 'apply', fileOfPlans(), '--as', 'eve')).toEqual({
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
    expect(await ops('plans', 'apply', fileOfPlans())).toEqual({
      code: 0,
      stdout: 'no changes\n',
      stderr: '',
    });
    expect(await snapshot(kit.redis)).toEqual(applied);
  });

  test('has a plan that was made by hand once its name is in gw:plans, as REDIS.md says', async () => {
    await kit.redis.hset(redisKeys.plan('by-hand'), { minute: 7, day: 70 });
    expect((await ops('plans', 'export')).stdout).not.toContain('by-hand');
    await kit.redis.sadd(redisKeys.planNames, 'by-hand');
    expect((await ops('plans', 'export')).stdout).toContain('  by-hand:\n    minute: 7\n    day: 70\n');
  });

  test('what the file lacks stays as it is, and an export that would be incomplete fails', async () => {
    await kit.json('plans', 'set', 'old', '--create', '--minute', '1', '--day', '2');
    await write('plans: {free: {minute: 60, day: 1000}}');
    expect(await ops('plans', 'apply', fileOfPlans())).toEqual({
      code: 0,
      stdout: 'no changes\n',
      stderr: '',
    });
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
