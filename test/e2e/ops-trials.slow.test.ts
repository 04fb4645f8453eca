import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { generateApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { readAudit } from '../../gateway/operations/audit-log.ts';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { forEachConcurrently, snapshot, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runOps } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

interface Window {
  minute: number | null;
  day: number | null;
}

interface ShownTrial extends Record<string, unknown> {
  enforced: Window;
  trial: Window | null;
  since: string | null;
}

interface Changed {
  before: ShownTrial;
  after: ShownTrial;
}

describe('limits on trial', () => {
  let kit: OpsKit;

  beforeAll(async () => {
    kit = await startOpsKit();
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  const plan = (name: string) => kit.redis.hgetall(redisKeys.plan(name));
  const sinceOf = (shown: ShownTrial) => String(Date.parse(shown.since ?? ''));
  const lastAudit = async () => (await readAudit(kit.redis, 1))[0];

  async function makePlan(name: string): Promise<void> {
    await kit.redis.hset(redisKeys.plan(name), { minute: 60, day: 1000 });
    await kit.redis.sadd(redisKeys.planNames, name);
  }

  /** Sends requests once the gateway counts the trial, and discards the counts from before. */
  async function sendOnTrial(key: string, customerId: CustomerId, requests: number): Promise<void> {
    await expect
      .poll(async () => {
        await kit.pets(key);
        return kit.redis.exists(redisKeys.trial(customerId));
      })
      .toBe(1);
    await kit.redis.del(redisKeys.trial(customerId));
    for (let index = 0; index < requests; index += 1) expect((await kit.pets(key)).status).toBe(200);
  }

  test('of a plan are started, shown with the customers hit hardest, changed and stopped, all of it audited', async () => {
    await makePlan('gold');
    const started = await kit.json<Changed>('plans', 'trial', 'gold', '--minute', '3', '--day', '9');
    const enforced = { minute: 60, day: 1000 };
    expect(started).toEqual({
      plan: 'gold',
      before: { enforced, trial: null, since: null },
      after: { enforced, trial: { minute: 3, day: 9 }, since: started.after.since },
    });
    const trial = { trialMinute: '3', trialDay: '9', trialSince: sinceOf(started.after) };
    expect(await plan('gold')).toEqual({ minute: '60', day: '1000', ...trial });
    expect(await lastAudit()).toMatchObject({
      action: 'plans.trial',
      target: 'gold',
      before: { minute: 60, day: 1000, trial: null },
      after: { minute: 60, day: 1000, trial: { minute: 3, day: 9 } },
    });

    const [acme, small, other] = [
      await kit.issue({ plan: 'gold', name: 'ACME' }),
      await kit.issue({ plan: 'gold', name: 'Small' }),
      await kit.issue({ plan: 'gold', name: 'Other limits', minute: 70, day: 700 }),
    ];
    await kit.issue({ plan: 'gold', name: 'Silent' });
    await sendOnTrial(acme.key, acme.customerId, 10);
    await sendOnTrial(small.key, small.customerId, 5);
    await kit.pets(other.key);
    const counts = { requests: 15, refusedMinute: 9, refusedDay: 0 };
    const hardestHit = [
      { id: acme.customerId, name: 'ACME', requests: 10, refusedMinute: 7, refusedDay: 0 },
      { id: small.customerId, name: 'Small', requests: 5, refusedMinute: 2, refusedDay: 0 },
    ];
    const shown = await kit.json('plans', 'trial', 'gold');
    expect(shown).toEqual({
      plan: 'gold',
      ...started.after,
      keys: 3,
      activeKeys: 2,
      refusedKeys: 2,
      ...counts,
      refused: 9,
      refusedShare: 0.6,
      hardestHit,
    });
    expect(await kit.json('plans', 'trial', 'gold', '--count', '1')).toEqual({
      ...shown,
      hardestHit: hardestHit.slice(0, 1),
    });
    expect((await kit.run('plans', 'trial', 'gold', '--output', 'csv')).stdout).toBe(
      `id,name,requests,refusedMinute,refusedDay\n${acme.customerId},ACME,10,7,0\n${small.customerId},Small,5,2,0\n`,
    );
    const { stdout } = await kit.run('plans', 'trial', 'gold');
    expect(stdout).toContain('keys         3 on trial, 2 with requests, 2 that would be refused some\n');
    expect(stdout).toContain('wouldRefuse  9 (60.00 %): 9 by the minute limit, 0 by the day limit\n');
    expect(stdout).toMatch(
      new RegExp(`^${acme.customerId}  ACME   10        7             70.00 %  7          0$`, 'm'),
    );

    const changed = await kit.json<Changed>('plans', 'trial', 'gold', '--minute', '4');
    expect(changed.after.trial).toEqual({ minute: 4, day: null });
    expect(Number(sinceOf(changed.after))).toBeGreaterThan(Number(sinceOf(started.after)));
    expect(await kit.json('plans', 'trial', 'gold')).toMatchObject({ requests: 0, hardestHit: [] });

    const stopped = await kit.run('plans', 'trial', 'gold', '--stop');
    expect(stopped).toMatchObject({
      code: 0,
      stdout: 'plan      gold\nenforced  60 a minute, 1000 a day\ntrial     4 a minute → none\nsince     -\n',
    });
    expect(await plan('gold')).toEqual({ minute: '60', day: '1000' });
    expect(await lastAudit()).toMatchObject({ action: 'plans.trial-stop', target: 'gold' });
    expect(await kit.json('plans', 'trial', 'gold')).toEqual({
      plan: 'gold',
      enforced,
      trial: null,
      since: null,
    });
  });

  test('of a plan become its limits with --apply', async () => {
    await makePlan('applied');
    await kit.json('plans', 'trial', 'applied', '--day', '500');
    const { stdout, code } = await kit.run('plans', 'trial', 'applied', '--apply');
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'plan      applied',
        'enforced  60 a minute, 1000 a day → 60 a minute, 500 a day',
        'trial     500 a day → none',
        'since     -',
        '',
      ].join('\n'),
    );
    expect(await plan('applied')).toEqual({ minute: '60', day: '500' });
    expect(await lastAudit()).toMatchObject({
      action: 'plans.trial-apply',
      before: { minute: 60, day: 1000, trial: { day: 500 } },
      after: { minute: 60, day: 500, trial: null },
    });
  });

  test('of a key are started, shown, changed with it, applied and stopped', async () => {
    const { id, key, customerId } = await kit.issue({
      plan: 'enterprise',
      minute: 50,
      day: 500,
      name: 'ACME',
    });
    const started = await kit.json<Changed>('keys', 'trial', id, '--minute', '3');
    expect(started).toMatchObject({
      id,
      before: { minute: 50, day: 500, trial: null, since: null },
      after: { minute: 50, day: 500, trial: { minute: 3, day: null } },
    });
    await sendOnTrial(key, customerId, 5);
    // Any other change of the key keeps the trial.
    await kit.json('keys', 'set', id, '--name', 'ACME GmbH');
    expect(await kit.json('keys', 'trial', id)).toEqual({
      id,
      name: 'ACME GmbH',
      plan: 'enterprise',
      enforced: { minute: 50, day: 500 },
      trial: { minute: 3, day: 500 },
      trialOf: 'key',
      since: started.after.since,
      requests: 5,
      refusedMinute: 2,
      refusedDay: 0,
      refused: 2,
      refusedShare: 0.4,
    });
    const { stdout } = await kit.run('keys', 'trial', id);
    expect(stdout).toContain('trial        3 a minute, 500 a day (trial of the customer)\n');
    expect(stdout).toContain('wouldRefuse  2 (40.00 %): 2 by the minute limit, 0 by the day limit\n');

    expect(await kit.json('keys', 'trial', id, '--apply')).toMatchObject({
      before: { minute: 50, day: 500, trial: { minute: 3, day: null } },
      after: { minute: 3, day: 500, trial: null, since: null },
    });
    expect((await kit.pets(key)).header('RateLimit-Policy')).toBe('"minute";q=3;w=60, "day";q=500;w=86400');
    expect(await lastAudit()).toMatchObject({ action: 'keys.trial-apply', target: id });
    await kit.json('keys', 'trial', id, '--day', '5');
    await kit.json('keys', 'trial', id, '--stop');
    expect(await kit.redis.hgetall(redisKeys.customer(customerId))).not.toHaveProperty('trialDay');
    expect(await kit.json('keys', 'trial', id)).toMatchObject({ trial: null, trialOf: null, since: null });
  });

  test('of a plan are shown for a key on it, which has no trial of its own', async () => {
    await makePlan('silver');
    const { id } = await kit.issue({ plan: 'silver', day: 700 });
    const { after } = await kit.json<Changed>('plans', 'trial', 'silver', '--minute', '3', '--day', '9');
    expect(await kit.json('keys', 'trial', id)).toMatchObject({
      trial: { minute: 3, day: 700 },
      trialOf: 'plan',
      since: after.since,
    });
    const { since } = after;
    expect(await kit.json('keys', 'show', id)).toMatchObject({
      id,
      plan: 'silver',
      trial: { minute: 3, day: 700, of: 'plan', since },
    });
    expect((await kit.run('keys', 'show', id)).stdout).toContain(
      `trial       3 a minute, 700 a day, since ${since} (trial of the plan)\n`,
    );
    const untried = await kit.issue({ plan: 'free' });
    expect(await kit.json('keys', 'show', untried.id)).toMatchObject({ id: untried.id, trial: null });
    const { code, stderr } = await kit.run('keys', 'trial', id, '--stop');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `ops: no limits are on trial for the customer of ${id} itself: --minute N and --day N start a trial\n`,
    });
  });

  test('go on after a rotation, with the same counts', async () => {
    const { id, key, customerId } = await kit.issue({ plan: 'pro' });
    const { after } = await kit.json<Changed>('keys', 'trial', id, '--minute', '3');
    await sendOnTrial(key, customerId, 5);
    const rotated = await kit.json<{ id: string }>('keys', 'rotate', id);
    const shown = await kit.json<ShownTrial>('keys', 'trial', rotated.id);
    expect(shown).toMatchObject({ trial: { minute: 3, day: 10_000 }, trialOf: 'key', requests: 5 });
    expect(shown.since).toBe(after.since);
  });

  test('of a key are exported and imported with it', async () => {
    const { id } = await kit.issue({ plan: 'pro' });
    const { after } = await kit.json<Changed>('keys', 'trial', id, '--day', '30');
    const line = (await kit.run('keys', 'export')).stdout.split('\n').find((text) => text.includes(id)) ?? '';
    await using other = await startAnyRedis();
    await using directory = await temporaryDirectory();
    const runOther = (...args: string[]) => runOps(args, { REDIS_URL: other.url });
    const file = join(directory.path, 'keys.jsonl');
    await writeFile(file, line.replace('"trial":{"day":30', '"trial":{"day":0'));
    expect(await runOther('keys', 'import', file)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/line 1: trial\.day .*>=1/) as string,
    });
    await writeFile(file, line);
    expect((await runOther('keys', 'import', file)).code).toBe(0);
    const shown = JSON.parse((await runOther('keys', 'trial', id, '--json')).stdout) as ShownTrial;
    expect(shown).toMatchObject({ trial: { minute: 300, day: 30 }, trialOf: 'key', since: after.since });
    const again = JSON.parse((await runOther('keys', 'import', file, '--json')).stdout) as object;
    expect(again).toMatchObject({ added: 0, unchanged: 1 });
  });

  test('that were edited by hand into invalid ones are named, not applied, and removed by --stop', async () => {
    await makePlan('edited');
    await kit.redis.hset(redisKeys.plan('edited'), { trialMinute: 'few', trialSince: '1' });
    const issue = 'trialMinute is not a whole number from 1 to 1000000000, so the trial is off';
    expect(await kit.run('plans', 'trial', 'edited', '--json')).toMatchObject({
      code: 0,
      stderr: `ops: warning: gw:plan:edited: ${issue}\n`,
      stdout: expect.stringContaining('"trial":null') as string,
    });
    expect(await kit.run('plans', 'trial', 'edited', '--apply')).toMatchObject({
      code: 2,
      stderr: `ops: the trial of the plan edited is invalid: ${issue}\n`,
    });
    await kit.json('plans', 'trial', 'edited', '--stop');
    expect(await plan('edited')).toEqual({ minute: '60', day: '1000' });

    const onEdited = await kit.issue({ plan: 'edited' });
    await kit.redis.del(redisKeys.plan('edited'));
    await kit.redis.set(redisKeys.plan('edited'), 'not a hash');
    expect(await kit.run('keys', 'show', onEdited.id)).toMatchObject({
      code: 0,
      stderr: `ops: warning: ${onEdited.id}: gw:plan:edited: is not a hash\n`,
      stdout: expect.stringContaining('trial       -') as string,
    });
    await kit.redis.del(redisKeys.plan('edited'));

    const { id, customerId } = await kit.issue({ plan: 'pro' });
    await kit.redis.hset(redisKeys.customer(customerId), { trialMinute: 'few', trialSince: '1' });
    expect(await kit.run('keys', 'trial', id)).toMatchObject({
      code: 0,
      stderr: `ops: warning: ${id}: ${issue}\n`,
    });
    expect((await kit.run('keys', 'trial', id, '--apply')).stderr).toBe(
      `ops: the trial of the customer of ${id} itself is invalid: ${issue}\n`,
    );
    await kit.json('keys', 'trial', id, '--stop');
    expect(await kit.redis.hgetall(redisKeys.customer(customerId))).not.toHaveProperty('trialMinute');
  });

  test('survive another change of the plan', async () => {
    await makePlan('kept');
    await kit.json('plans', 'trial', 'kept', '--minute', '3');
    await kit.json('plans', 'set', 'kept', '--minute', '70', '--day', '2000');
    expect(await kit.json('plans', 'trial', 'kept')).toMatchObject({
      enforced: { minute: 70, day: 2000 },
      trial: { minute: 3, day: null },
    });
  });

  test('with invalid input change nothing, and the message says what is wrong', async () => {
    await makePlan('untouched');
    const { id } = await kit.issue({ plan: 'pro' });
    const revoked = await kit.issue({ plan: 'pro' });
    await kit.json('keys', 'revoke', revoked.id, '--yes');
    await kit.redis.hset(redisKeys.plan('half'), { minute: '5' });
    const before = await snapshot(kit.redis);
    const cases: [string[], string][] = [
      [['plans', 'trial', generateApiKey()], 'this is an API key and not the name of a plan'],
      [
        ['plans', 'trial', 'enterprise', '--minute', '5'],
        'enterprise has no limits of its own: start a trial for each customer, with ops keys trial',
      ],
      [
        ['plans', 'trial', 'anonymous', '--minute', '5'],
        'anonymous is the limit of an address; only limits of API keys can be on trial',
      ],
      [
        ['plans', 'trial', 'anonymous'],
        'anonymous is the limit of an address; only limits of API keys can be on trial',
      ],
      [
        ['plans', 'trial', 'untuched', '--minute', '5'],
        'there is no plan named "untuched"; did you mean "untouched"?',
      ],
      [
        ['plans', 'trial', 'half', '--day', '5'],
        'the plan half has no valid limits in Redis: set them with ops plans set; see: ops plans list',
      ],
      [
        ['plans', 'trial', 'untouched', '--minute', '0'],
        "option '--minute <n>' argument '0' is invalid. It must be a whole number from 1 to 1000000000.",
      ],
      [
        ['plans', 'trial', 'untouched', '--stop'],
        'no limits are on trial for the plan untouched: --minute N and --day N start a trial',
      ],
      [
        ['plans', 'trial', 'untouched', '--apply'],
        'no limits are on trial for the plan untouched: --minute N and --day N start a trial',
      ],
      [
        ['plans', 'trial', 'untouched', '--stop', '--apply'],
        "option '--stop' cannot be used with option '--apply'",
      ],
      [
        ['plans', 'trial', 'untouched', '--apply', '--minute', '5'],
        "option '--apply' cannot be used with option '--minute <n>'",
      ],
      [
        ['keys', 'trial', id, '--stop', '--day', '5'],
        "option '--stop' cannot be used with option '--day <n>'",
      ],
      [
        ['keys', 'trial', id, '--apply'],
        `no limits are on trial for the customer of ${id} itself: --minute N and --day N start a trial`,
      ],
      [['keys', 'trial', revoked.id, '--day', '5'], `the key ${revoked.id} is revoked`],
      [['keys', 'trial', 'key_none', '--day', '5'], 'there is no API key with the id "key_none"'],
    ];
    await forEachConcurrently(cases, async ([args, message]) => {
      const { code, stderr } = await kit.run(...args);
      expect({ code, stderr }, args.join(' ')).toEqual({ code: 2, stderr: `ops: ${message}\n` });
    });
    expect(await snapshot(kit.redis)).toEqual(before);
  });
});
