import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createCaller } from '../../gateway/api-keys/api-key-cache.ts';
import { startTrial, stopTrial } from '../../gateway/operations/key-trial.ts';
import { applyPlanTrial, startPlanTrial, stopPlanTrial } from '../../gateway/operations/plan-trial.ts';
import { readTrialCounts } from '../../gateway/operations/trial-report.ts';
import { defaultBanPolicy, formatPolicies } from '../../gateway/quota/ban-policy.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { quotaKeys, redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { send } from '../support/http/http.ts';
import { startGatewayFleet, type GatewayFleet } from '../support/kits/gateway-fleet.ts';
import { connectRedis, type IssuedKey } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';

describe('limits on trial', { tags: ['redis-server'] }, () => {
  let server: RedisServer;
  let fleet: GatewayFleet;

  beforeAll(async () => {
    server = await startRedisServer();
    fleet = await startGatewayFleet(server.url, 2);
  });

  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  function session() {
    const { redis } = fleet;
    return { redis, audit: createAuditLog({ redis, who: 'tests' }), now: Date.now };
  }

  /** A plan of its own, so that no test sees the trial of another one. */
  async function makePlan(name: string): Promise<string> {
    await fleet.redis.hset(redisKeys.plan(name), { minute: 60, day: 1000 });
    return name;
  }

  /** Sends requests through both gateways in turn. @returns how many got each status */
  async function sendRequests(
    { key }: Pick<IssuedKey, 'key'>,
    count: number,
  ): Promise<Record<number, number>> {
    const responses = await Promise.all(Array.from({ length: count }, (_, index) => fleet.pets(key, index)));
    const counts: Record<number, number> = {};
    for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** Value of the metric, summed over the gateways. */
  async function refusals(plan: string, window: string): Promise<number> {
    const texts = await Promise.all(
      fleet.gateways.map(async ({ adminUrl }) => (await send(`${adminUrl}/metrics`)).text),
    );
    const pattern = new RegExp(
      `^gateway_trial_refusals_total{plan="${plan}",window="${window}"} (\\d+)$`,
      'm',
    );
    return texts.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0);
  }

  /** Waits until both gateways count a trial of the plan, which a key of its own shows. */
  async function waitForTrial(plan: string, since: number | undefined): Promise<void> {
    const { key, customerId } = await fleet.issue({ plan });
    for (const turn of [0, 1]) {
      await expect
        .poll(async () => {
          await fleet.redis.del(redisKeys.trial(customerId));
          await fleet.pets(key, turn);
          return (await fleet.redis.hget(redisKeys.trial(customerId), 'since')) ?? undefined;
        })
        .toBe(since === undefined ? undefined : String(since));
    }
  }

  test('of a plan are counted exactly over two gateways, and refuse nothing', async () => {
    const plan = await makePlan('counted');
    const { after } = await startPlanTrial(session(), plan, { minute: 10, day: 1000 });
    const since = after.trial?.since ?? 0;
    await waitForTrial(plan, since);
    const before = await refusals(plan, 'minute');
    const key = await fleet.issue({ plan });
    expect(await sendRequests(key, 40)).toEqual({ 200: 40 });
    expect(await readTrialCounts(fleet.redis, key.customerId, since)).toEqual({
      requests: 40,
      refusedMinute: 30,
      refusedDay: 0,
    });
    expect((await refusals(plan, 'minute')) - before).toBe(30);
    expect(await fleet.redis.get(redisKeys.openWindow(key.customerId, 'minute'))).toBe('40');
  });

  test('that are higher than the enforced ones count fewer refusals than there are', async () => {
    const plan = await makePlan('higher');
    const { after } = await startPlanTrial(session(), plan, { minute: 70 });
    const since = after.trial?.since ?? 0;
    await waitForTrial(plan, since);
    const key = await fleet.issue({ plan });
    expect(await sendRequests(key, 80)).toEqual({ 200: 60, 429: 20 });
    expect(await readTrialCounts(fleet.redis, key.customerId, since)).toEqual({
      requests: 80,
      refusedMinute: 10,
      refusedDay: 0,
    });
  });

  test("of a key go before its plan's, from its next request on", async () => {
    const plan = await makePlan('both');
    const { after } = await startPlanTrial(session(), plan, { minute: 5 });
    await waitForTrial(plan, after.trial?.since);
    const before = await refusals(plan, 'day');
    const key = await fleet.issue({ plan });
    const { after: record } = await startTrial(session(), key.id, { day: 20 });
    expect(await sendRequests(key, 30)).toEqual({ 200: 30 });
    const counts = { requests: 30, refusedMinute: 0, refusedDay: 10 };
    expect(await readTrialCounts(fleet.redis, key.customerId, record.trial?.since ?? 0)).toEqual(counts);
    expect((await refusals(plan, 'day')) - before).toBe(10);

    await stopTrial(session(), key.id);
    expect(await sendRequests(key, 10)).toEqual({ 200: 10 });
    expect(await readTrialCounts(fleet.redis, key.customerId, after.trial?.since ?? 0)).toEqual({
      requests: 10,
      refusedMinute: 5,
      refusedDay: 0,
    });
  });

  test('of a plan leave the own limits of a key as they are', async () => {
    const plan = await makePlan('own-limits');
    const { after } = await startPlanTrial(session(), plan, { minute: 5 });
    const since = after.trial?.since ?? 0;
    await waitForTrial(plan, since);
    const key = await fleet.issue({ plan, minute: 30 });
    expect(await sendRequests(key, 20)).toEqual({ 200: 20 });
    // The trial names no other window, so the key is not on it.
    expect(await fleet.redis.exists(redisKeys.trial(key.customerId))).toBe(0);
  });

  test('that are stopped are counted no longer, and those that are applied are enforced', async () => {
    const plan = await makePlan('applied');
    const { after } = await startPlanTrial(session(), plan, { minute: 5 });
    await waitForTrial(plan, after.trial?.since);
    await stopPlanTrial(session(), plan);
    await waitForTrial(plan, undefined);

    await startPlanTrial(session(), plan, { minute: 5 });
    await applyPlanTrial(session(), plan);
    expect(await fleet.redis.hgetall(redisKeys.plan(plan))).toEqual({ minute: '5', day: '1000' });
    for (const turn of [0, 1]) {
      const { key } = await fleet.issue({ plan });
      await expect
        .poll(async () => (await fleet.pets(key, turn)).header('RateLimit-Policy'))
        .toContain('q=5;w=60');
    }
  });

  test.each([
    { name: 'is a string', break: (key: string) => server.redis.set(key, 'oops') },
    {
      name: 'has invalid fields',
      break: (key: string) => server.redis.hset(key, 'requests', 'x', 'day', '-1'),
    },
  ])('whose hash of counts $name do no harm to requests', async ({ break: breakCounts }) => {
    const key = await fleet.issue();
    const { after } = await startTrial(session(), key.id, { minute: 1 });
    expect(await sendRequests(key, 3)).toEqual({ 200: 3 });
    await server.redis.del(redisKeys.trial(key.customerId));
    await breakCounts(redisKeys.trial(key.customerId));
    expect(await sendRequests(key, 3)).toEqual({ 200: 3 });
    expect(await readTrialCounts(fleet.redis, key.customerId, after.trial?.since ?? 0)).toEqual({
      requests: 3,
      refusedMinute: 2,
      refusedDay: 0,
    });
  });

  describe('that were edited by hand into invalid ones', () => {
    const badSettings = async (key: string) => {
      const { text } = await send(`${fleet.gateways[0]?.adminUrl}/metrics`);
      return new RegExp(`gateway_bad_settings{key="${key}"} (\\d+)`).exec(text)?.[1];
    };
    const invalidTrial = { trialMinute: 'few', trialDay: '50', trialSince: '1' };

    test('are off for a plan, and are reported', async () => {
      const plan = await makePlan('invalid');
      const key = await fleet.issue({ plan });
      await fleet.redis.hset(redisKeys.plan(plan), invalidTrial);
      expect((await fleet.pets(key.key)).status).toBe(200);
      await expect.poll(() => badSettings('gw:plan:invalid')).toBe('1');
      expect(fleet.gateways[0]?.output()).toContain(
        '"issues":["trialMinute is not a whole number from 1 to 1000000000, so the trial is off"]',
      );
      expect(await sendRequests(key, 62)).toEqual({ 200: 59, 429: 3 });
      expect(await fleet.redis.exists(redisKeys.trial(key.customerId))).toBe(0);
    });

    test('are off for a key, and are reported', async () => {
      const key = await fleet.issue({ minute: 10 });
      const edit = async (fields: Record<string, string | number>) => {
        await fleet.redis.hset(redisKeys.customer(key.customerId), fields);
        await fleet.redis.hincrby(redisKeys.customer(key.customerId), 'rev', 1);
      };
      await edit(invalidTrial);
      onTestFinished(async () => {
        await edit({ trialMinute: 5 });
        await fleet.pets(key.key);
      });
      expect(await sendRequests(key, 11)).toEqual({ 200: 10, 429: 1 });
      expect(await badSettings('gw:customer')).toBe('1');
      expect(await fleet.redis.exists(redisKeys.trial(key.customerId))).toBe(0);
    });
  });

  /** Quota commands of a key's requests, sent one after another, with all their arguments; and commands of its script. */
  async function commandsOf({ key, customerId, keyHash }: IssuedKey, requests: number) {
    const monitor = await monitorRedis(server.port);
    for (let index = 0; index < requests; index += 1) expect((await fleet.pets(key)).status).toBe(200);
    await fleet.redis.echo('the end');
    await expect.poll(() => monitor.commands.some(({ args }) => args[1] === 'the end')).toBe(true);
    monitor.close();
    const own = monitor.commands.filter(
      // Not the look for lost keys, every five seconds.
      ({ args }) =>
        args[0] !== 'exists' && args.some((arg) => arg.includes(keyHash) || arg.includes(`{${customerId}}`)),
    );
    return {
      sent: own
        .filter(({ source }) => source !== 'lua')
        .map(({ args: [name, _sha1, ...args] }) => [name, args]),
      inScript: own.filter(({ source }) => source === 'lua').map(({ args: [name] }) => name),
    };
  }

  test('cost no further command, and nothing at all for keys that are not on trial', async () => {
    const key = await fleet.issue();
    const policy = formatPolicies(defaultBanPolicy);
    await fleet.pets(key.key);
    const keys = quotaKeys(key);
    const rev = () => fleet.redis.hget(redisKeys.customer(key.customerId), 'rev');
    const without = await commandsOf(key, 3);
    const command = ['evalsha', ['4', ...keys, policy, await rev(), '', '60', '', '1000', '']];
    expect(without.sent).toEqual([command, command, command]);

    const { after } = await startTrial(session(), key.id, { minute: 20 });
    await fleet.pets(key.key);
    const on = await commandsOf(key, 3);
    const trial = `since=${after.trial?.since} minute=20 day=1000`;
    const onTrial = ['evalsha', ['4', ...keys, policy, await rev(), trial, '60', '', '1000', '']];
    expect(on.sent).toEqual([onTrial, onTrial, onTrial]);
    // They share the connection and the round trip.
    expect(on.inScript.length).toBe(without.inScript.length + 2 * 3);
  });

  test('are counted in a Redis Cluster, beside the other keys of the customer', async () => {
    const port = await freePort();
    await using node = await startRedisProcess(() => [
      '--save',
      '',
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      'nodes.conf',
      '--cluster-port',
      String(port),
      '--cluster-announce-ip',
      '127.0.0.1',
    ]);
    await node.redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await expect.poll(() => node.redis.cluster('INFO')).toContain('cluster_state:ok');
    const redis = await connectRedis(`redis+cluster://127.0.0.1:${node.port}`);
    const batch = createOpenBatch(redis);
    const refused: string[] = [];
    const customerOf = (keyHash: string): CustomerId => `cus_${keyHash.slice(0, 18)}`;
    const caller = (keyHash: string) =>
      createCaller(
        { id: 'k', customerId: customerOf(keyHash), name: '', plan: 'p', hint: '', createdAt: '', rev: 0 },
        keyHash,
      );
    const keyHashes = ['a', 'b', 'c'].map((letter) => letter.repeat(64));
    for (const keyHash of [...keyHashes, ...keyHashes]) {
      const decision = await consumeQuota(batch, {
        caller: caller(keyHash),
        limits: { minute: 60, day: 1000 },
        trial: {
          limits: { minute: 1, day: 1000, since: 7 },
          onRefusal: (window) => refused.push(window),
        },
      });
      expect(decision.outcome).toBe('allowed');
    }
    expect(refused).toEqual(['minute', 'minute', 'minute']);
    for (const keyHash of keyHashes) {
      expect(await readTrialCounts(redis, customerOf(keyHash), 7)).toEqual({
        requests: 2,
        refusedMinute: 1,
        refusedDay: 0,
      });
    }
    redis.disconnect();
  });
});
