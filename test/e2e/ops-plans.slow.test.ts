import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { answerOnTerminal } from '../support/kits/terminal.ts';

describe('the commands for plans', { timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);

  const limitsOf = (name: string) => kit.redis.hgetall(redisKeys.plan(name));

  test('plans set changes one limit, shows old and new, and keeps the other limit', async () => {
    expect(await kit.run('plans', 'set', 'pro', '--minute', '600')).toEqual({
      code: 0,
      stdout: 'name    pro\nminute  300 → 600\nday     10000\n',
      stderr: '',
    });
    expect(await limitsOf('pro')).toEqual({ minute: '600', day: '10000' });
    expect(await kit.json('plans', 'set', 'pro', '--day', '9000')).toEqual({
      name: 'pro',
      minute: 600,
      day: 9000,
      before: { minute: 600, day: 10_000 },
    });
    expect(await limitsOf('pro')).toEqual({ minute: '600', day: '9000' });
    const [entry] = await kit.json<unknown[]>('audit', '--count', '1');
    expect(entry).toMatchObject({
      action: 'plans.set',
      before: { minute: 600, day: 10_000 },
      after: { minute: 600, day: 9000 },
    });
  });

  test('plans set leaves a plan one limit at least, and names the option of one that is invalid', async () => {
    expect(await kit.run('plans', 'set', 'hourly', '--create', '--month', '900')).toMatchObject({ code: 0 });
    expect(await kit.run('plans', 'set', 'hourly', '--month', 'none')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ops: hourly needs a limit: give --minute N or --hour N or --day N or --month N\n',
    });
    const { stdout, stderr } = await kit.run('plans', 'list');
    expect(stdout).toMatch(/^PLAN +MINUTE +DAY +MONTH +CUSTOMERS +GATEWAYS\b/);
    expect(stdout).toMatch(/^hourly +- +- +900 +0 +once used$/m);
    expect(stderr).toBe('');
    await kit.redis.hset(redisKeys.plan('hourly'), 'month', 'many');
    expect(await kit.run('plans', 'set', 'hourly', '--shadow-month', '5')).toMatchObject({
      code: 2,
      stderr: 'ops: hourly has no valid month limit in Redis: add --month N\n',
    });
    await kit.json('plans', 'remove', 'hourly', '--yes');
  });

  test('plans list has a plan that was made by hand once its name is in gw:plans, as REDIS.md says', async () => {
    await kit.redis.hset(redisKeys.plan('by-hand'), { minute: 7, day: 70 });
    const find = async () =>
      (await kit.json<{ name: string }[]>('plans', 'list')).find(({ name }) => name === 'by-hand');
    expect(await find()).toBeUndefined();
    await kit.redis.sadd(redisKeys.planNames, 'by-hand');
    expect(await find()).toMatchObject({ minute: 7, day: 70, customers: 0 });
    await kit.json('plans', 'remove', 'by-hand', '--yes');
  });

  test(
    'a plan that a key is put on before the question is answered stays',
    { tags: ['script'] },
    async () => {
      await kit.json('plans', 'set', 'contested', '--create', '--minute', '10', '--day', '90');
      const output = await answerOnTerminal(
        ['gateway/faces/command/main.ts', 'plans', 'remove', 'contested'],
        { REDIS_URL: kit.server.url },
        'y',
        async () => void (await kit.issue({ plan: 'contested' })),
      );
      expect(output).toContain('1 customer is on contested');
      expect(await limitsOf('contested')).toEqual({ minute: '10', day: '90' });
    },
  );
});
