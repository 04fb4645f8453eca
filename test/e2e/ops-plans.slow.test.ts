import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defaultBanPolicy } from '../../gateway/quota/ban-policy.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { snapshot, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { answerOnTerminal } from '../support/kits/terminal.ts';

describe('the commands for plans', { timeout: 120_000 }, () => {
  let kit: OpsKit;

  beforeAll(async () => {
    kit = await startOpsKit();
  });
  afterAll(() => kit[Symbol.asyncDispose]());

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

  test('plans set --dry-run counts the customers of the plan, names the busiest above the limits, and changes nothing', async () => {
    const { key, customerId } = await kit.issue({ plan: 'business' });
    await kit.issue({ plan: 'business' });
    await kit.pets(key);
    const args = ['plans', 'set', 'business', '--minute', '1', '--dry-run'];
    // Gateways report every two seconds how busy customers are.
    await expect
      .poll(() => kit.json(...args), { timeout: 15_000 })
      .toEqual({
        name: 'business',
        minute: 1,
        day: 100_000,
        before: { minute: 1000, day: 100_000 },
        customers: 2,
        above: [{ id: customerId, name: 'test', window: 'minute', used: 1, limit: 1 }],
      });
    expect((await kit.run(...args)).stdout).toBe(
      `name       business\nminute     1000 → 1\nday        100000\ncustomers  2\nabove them now: ${customerId} test, 1 of 1 a minute\n`,
    );
    expect(await limitsOf('business')).toEqual({ minute: '1000', day: '100000' });
  });

  test('plans set asks for a limit that is neither given nor stored', async () => {
    await kit.redis.hset(redisKeys.plan('half'), { minute: 5 });
    expect(await kit.run('plans', 'set', 'half', '--minute', '6')).toMatchObject({
      code: 2,
      stderr: 'ops: half has no valid day limit in Redis: add --day N\n',
    });
    expect(await limitsOf('half')).toEqual({ minute: '5' });
    await kit.json('plans', 'set', 'half', '--day', '7');
    expect(await limitsOf('half')).toEqual({ minute: '5', day: '7' });
  });

  test('a day limit below the minute limit needs --yes where there is no terminal', async () => {
    const args = ['plans', 'set', 'odd', '--create', '--minute', '10', '--day', '9'];
    const before = await snapshot(kit.redis);
    const { code, stderr } = await kit.run(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ops: the day limit of odd, 9, is less than its minute limit, 10\. .+ --yes/);
    expect(await snapshot(kit.redis)).toEqual(before);
    expect(await kit.json(...args, '--yes')).toMatchObject({ minute: 10, day: 9 });
  });

  test('plans remove refuses while customers are on the plan, and then removes it', async () => {
    await kit.json('plans', 'set', 'gone', '--create', '--minute', '10', '--day', '90');
    const { id } = await kit.issue({ plan: 'gone' });
    const before = await snapshot(kit.redis);
    expect(await kit.run('plans', 'remove', 'gone', '--yes')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'ops: 1 customer is on gone: ops customers list --plan gone lists them, ops customers set CUSTOMER --plan PLAN moves one; ' +
        'no plan was removed\n',
    });
    expect(await snapshot(kit.redis)).toEqual(before);
    await kit.run('keys', 'set', id, '--plan', 'pro');
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
        ['gateway/ops/main.ts', 'plans', 'remove', 'contested'],
        { REDIS_URL: kit.server.url },
        'y',
        async () => void (await kit.issue({ plan: 'contested' })),
      );
      expect(output).toContain('1 customer is on contested');
      expect(await limitsOf('contested')).toEqual({ minute: '10', day: '90' });
    },
  );

  test('never repeats an API key that is given for a name', async () => {
    const { key } = await kit.issue({ plan: 'free' });
    const { code, stderr } = await kit.run('plans', 'remove', key);
    expect(code).toBe(2);
    expect(stderr).not.toContain(key.slice(5));
  });

  test('plans list shows the customers on each plan, and how many gateways enforce it', async () => {
    await kit.json('plans', 'set', 'listed', '--create', '--minute', '10', '--day', '90');
    const [first] = await Promise.all([kit.issue({ plan: 'listed' }), kit.issue({ plan: 'listed' })]);
    const listed = async () => {
      const plans = await kit.json<{ name: string }[]>('plans', 'list');
      return plans.find(({ name }) => name === 'listed');
    };
    expect(await listed()).toEqual({ name: 'listed', minute: 10, day: 90, gateways: 0, customers: 2 });
    await kit.pets(first.key);
    await expect.poll(listed).toEqual({ name: 'listed', minute: 10, day: 90, gateways: 1, customers: 2 });
    expect((await kit.run('plans', 'list')).stdout).toMatch(/\nlisted +10 +90 +2 +1 of 1\n/);
  });

  test('policy reset sets the defaults, shows old and new, and is audited once', async () => {
    await kit.json('policy', 'set', '--strikes', '70', '--strikes-per-limit', '2.5');
    await kit.redis.hset(redisKeys.banPolicy, { colour: 'red' });
    const { code, stdout } = await kit.run('policy', 'reset', '--as', 'eve');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^strikes +70 → 60$/m);
    expect(stdout).toMatch(/^strikesPerLimit +2\.5 → 1$/m);
    expect(stdout).toMatch(/^banSeconds +60$/m);
    expect(await kit.json('policy', 'show')).toEqual(defaultBanPolicy);
    expect(await kit.json('policy', 'reset')).toEqual({ ...defaultBanPolicy, before: defaultBanPolicy });
    expect(await kit.json('audit', '--count', '1')).toMatchObject([
      { who: 'eve', action: 'policy.reset', before: { strikes: 70 }, after: defaultBanPolicy },
    ]);
    // An invalid policy, such as one that lost a field.
    await kit.redis.hdel(redisKeys.banPolicy, 'strikes');
    expect(await kit.json('policy', 'reset')).toMatchObject({ strikes: 60, before: { banSeconds: '60' } });
  });

  test(
    'on a terminal, plans remove asks, and old and new values have colours',
    { tags: ['script'] },
    async () => {
      await kit.json('plans', 'set', 'asked', '--create', '--minute', '10', '--day', '90');
      const onTerminal = (args: string[], answer: string, env: Record<string, string> = {}) =>
        answerOnTerminal(['gateway/ops/main.ts', ...args], { REDIS_URL: kit.server.url, ...env }, answer);
      expect(await onTerminal(['plans', 'remove', 'asked'], 'n')).toContain('Remove the plan asked? [y/N]');
      expect(await limitsOf('asked')).toEqual({ minute: '10', day: '90' });
      const coloured = await onTerminal(['plans', 'remove', 'asked'], 'y');
      expect(coloured).toContain('\u{1B}[31mremoved\u{1B}[39m');
      expect(await kit.redis.exists(redisKeys.plan('asked'))).toBe(0);
      await kit.json('plans', 'set', 'asked', '--create', '--minute', '10', '--day', '90');
      const plain = await onTerminal(['plans', 'remove', 'asked'], 'y', { NO_COLOR: '1' });
      expect(plain).toMatch(/plans\.asked {2}removed/);
      expect(plain).not.toContain('\u{1B}[31m');
    },
  );
});
