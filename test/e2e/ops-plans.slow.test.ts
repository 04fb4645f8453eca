import { describe, expect, test } from 'vitest';
import type { KeyDetail } from '../../gateway/control/keys/key-view.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { snapshot, startOpsKit } from '../support/kits/ops-kit.ts';
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

  test('plans set makes a plan of any window, takes a limit away, and leaves at least one', async () => {
    expect(await kit.json('plans', 'set', 'hourly', '--create', '--hour', '100')).toEqual({
      name: 'hourly',
      hour: 100,
      before: null,
    });
    expect(await limitsOf('hourly')).toEqual({ hour: '100' });
    expect(await kit.run('plans', 'set', 'hourly', '--hour', 'none')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ops: hourly needs a limit: give --minute N or --hour N or --day N or --month N\n',
    });
    expect(await kit.run('plans', 'set', 'hourly', '--hour', 'none', '--month', '900')).toEqual({
      code: 0,
      stdout: 'name   hourly\nhour   100 → -\nmonth  - → 900\n',
      stderr: '',
    });
    expect(await limitsOf('hourly')).toEqual({ month: '900' });
    expect(await kit.run('plans', 'set', 'business', '--day', 'none')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ops: business needs a day limit: it is a plan of the specification\n',
    });
    expect(await kit.run('plans', 'set', 'empty', '--create', '--shadow-day', '5')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^ops: empty needs a limit: /),
    });
    expect(await limitsOf('empty')).toEqual({});
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

  test('an enterprise key needs one limit of its own, of any window', async () => {
    const issue = ['keys', 'issue', '--plan', 'enterprise', '--name', 'Own'];
    expect(await kit.run(...issue)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'ops: an enterprise customer needs a limit of its own: --minute N or --hour N or --day N or --month N\n',
    });
    const { id } = await kit.json<{ id: string }>(...issue, '--hour', '5');
    const { windows, strikesToBan } = await kit.json<KeyDetail>('keys', 'show', id);
    expect(windows).toMatchObject({ hour: { used: 0, limit: 5, remaining: 5 } });
    expect([Object.keys(windows), strikesToBan]).toEqual([['hour'], 60]);
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

  test('plans remove refuses while customers are on the plan, and then removes it', async () => {
    await kit.json('plans', 'set', 'gone', '--create', '--minute', '10', '--day', '90');
    const { customerId } = await kit.issue({ plan: 'gone' });
    const before = await snapshot(kit.redis);
    expect(await kit.run('plans', 'remove', 'gone', '--yes')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ops: 1 customer is on gone: move them to another plan first; no plan was removed\n',
    });
    expect(await snapshot(kit.redis)).toEqual(before);
    await kit.run('customers', 'set', customerId, '--plan', 'pro');
    expect(await kit.run('plans', 'remove', 'gone')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^ops: Remove the plan gone\? There is no terminal .+ --yes/) as string,
    });
    expect(await kit.json('plans', 'remove', 'gone', '--yes', '--as', 'eve')).toEqual({
      name: 'gone',
      before: { minute: 10, day: 90 },
      after: null,
    });
    expect(await kit.redis.exists(redisKeys.plan('gone'))).toBe(0);
    expect(await kit.redis.sismember(redisKeys.planNames, 'gone')).toBe(0);
    expect(await kit.json('audit', '--count', '1')).toMatchObject([
      { who: 'eve', action: 'plans.remove', target: 'gone', before: { minute: 10, day: 90 }, after: null },
    ]);
    expect((await kit.run('keys', 'issue', '--plan', 'gone', '--name', 'x')).stderr).toContain(
      'there is no plan',
    );
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
