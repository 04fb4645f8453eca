import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { tellLeader } from '../../gateway/events/delivery-store.ts';
import { startEventLeader } from '../../gateway/events/event-leader.ts';
import { createPlanThresholds } from '../../gateway/events/plan-thresholds.ts';
import type { Attempt, WebhookSender } from '../../gateway/events/send-webhook.ts';
import { createMetrics } from '../../gateway/observability/metrics.ts';
import { removeCustomer } from '../../gateway/operations/customers.ts';
import {
  addWebhook,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
} from '../../gateway/operations/webhooks.ts';
import { createPlans } from '../../gateway/plans/plans.ts';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import { createHashReader } from '../../gateway/redis/hash-reader.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { eventSession, localRules } from '../support/kits/events-kit.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

const delivered: Attempt = { delivered: true, status: 200, error: null, ms: 1 };

describe('the leader that delivers events', () => {
  let stack: AsyncDisposableStack;
  let redis: RedisClient;
  let sent: string[];
  let lines: string[];
  let respond: () => Promise<Attempt>;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    const server = stack.use(await startAnyRedis());
    redis = await connectRedis(server.url);
    stack.defer(() => redis.disconnect());
    await seedDefaults(redis, 'tests');
    [sent, lines] = [[], []];
    respond = () => Promise.resolve(delivered);
    const hashes = createHashReader(redis);
    const invalidValues = { report: () => {}, forget: () => {}, list: () => [] };
    const sender: WebhookSender = {
      send({ url }, { type }) {
        sent.push(`${type} ${url}`);
        return respond();
      },
      close: () => Promise.resolve(),
    };
    const leader = startEventLeader({
      redis,
      plans: createPlans({ hashes, invalidValues, readOthers: () => Promise.resolve([]), now: Date.now }),
      thresholds: createPlanThresholds({ hashes, invalidValues }),
      sender,
      metrics: createMetrics({ droppedLogLines: () => 0 }),
      log: pino({ level: 'debug' }, { write: (line) => void lines.push(line) }),
      now: Date.now,
      syncClock: () => Promise.resolve(),
      delaysMs: [10, 10],
    });
    stack.defer(() => leader.close());
    await expect.poll(() => redis.hget(redisKeys.eventState, 'audit'), { timeout: 5000 }).not.toBeNull();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await stack.disposeAsync();
  });

  const session = () => eventSession(redis);
  const url = 'http://127.0.0.1:1/hook';
  const add = (owner: CustomerId) =>
    addWebhook(session(), owner, { url, types: ['key.created'] }, localRules);
  const issueFurther = (customerId: CustomerId) => keyIssuer(redis).store.issueFor(customerId, {});
  const terms = () => lines.filter((line) => line.includes('this process delivers events')).length;
  const soon = { timeout: 10_000 };

  test('loses no event if it was stopped for longer than its lease while it was reading webhooks', async () => {
    const { customerId } = await keyIssuer(redis).issue();
    await add(customerId);
    await issueFurther(customerId);
    await expect.poll(() => sent.length, soon).toBe(1);
    const stopped = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const read = redis.smembers.bind(redis);
    vi.spyOn(redis, 'smembers').mockImplementationOnce(async (key) => {
      stopped.resolve();
      await goOn.promise;
      return read(key);
    });
    await tellLeader(redis);
    await stopped.promise;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 11_000);
    // The lease is looked at each second.
    await sleep(2500);
    goOn.resolve();
    await expect.poll(terms, soon).toBe(2);
    await issueFurther(customerId);
    await expect.poll(() => sent.length, soon).toBe(2);
  }, 40_000);

  test('delivers to all others if the webhooks of a customer were edited into another type of value', async () => {
    const { customerId } = await keyIssuer(redis).issue();
    const { customerId: edited } = await keyIssuer(redis).issue();
    await add(edited);
    await redis.set(redisKeys.webhooks(edited), 'by hand');
    await add(customerId);
    await issueFurther(customerId);
    await expect.poll(() => sent, soon).toEqual([`key.created ${url}`]);
    expect(lines.filter((line) => line.includes(redisKeys.webhooks(edited))).length).toBe(1);
  });

  /** A webhook whose first attempt waits for its response. */
  async function beginAttempt() {
    const { customerId } = await keyIssuer(redis).issue();
    const { id } = await add(customerId);
    const attempt = Promise.withResolvers<Attempt>();
    respond = () => attempt.promise;
    await issueFurther(customerId);
    await expect.poll(() => sent.length, soon).toBe(1);
    return { customerId, id, attempt };
  }

  test('keeps nothing of a webhook that was removed while an attempt was under way', async () => {
    const { customerId, id, attempt } = await beginAttempt();
    await removeWebhook(session(), customerId, id);
    const control = await add(customerId);
    respond = () => Promise.resolve(delivered);
    await issueFurther(customerId);
    await expect.poll(() => sent.length, soon).toBe(2);
    attempt.resolve({ delivered: false, status: 500, error: 'status 500', ms: 1 });
    await issueFurther(customerId);
    await expect.poll(() => sent.length, soon).toBe(3);
    expect(await redis.keys(`*${id}*`)).toEqual([]);
    expect(Object.keys(await redis.hgetall(redisKeys.eventState)).join(' ')).not.toContain(id);
    expect(await listWebhooks(session(), customerId)).toMatchObject([{ id: control.id, state: 'on' }]);
  });

  test('records nothing of an attempt that fails when the event is not queued any more, as after a removal or by another leader', async () => {
    const { customerId, id, attempt } = await beginAttempt();
    await redis.del(redisKeys.eventQueue(id));
    attempt.resolve({ delivered: false, status: 500, error: 'status 500', ms: 1 });
    respond = () => Promise.resolve(delivered);
    await issueFurther(customerId);
    await expect
      .poll(() => readWebhookDeliveries(session(), customerId, id), soon)
      .toMatchObject([{ attempt: 1, outcome: 'delivered' }]);
    expect(await redis.exists(redisKeys.eventQueue(id))).toBe(0);
    expect(await listWebhooks(session(), customerId)).toMatchObject([{ state: 'on' }]);
  });

  test('keeps nothing of the webhooks of a customer that was removed', async () => {
    const { customerId, id: keyId } = await keyIssuer(redis).issue();
    const { id } = await add(customerId);
    respond = () => new Promise(() => {});
    await issueFurther(customerId).then(({ record }) => keyIssuer(redis).store.revoke(record.id));
    await issueFurther(customerId).then(({ record }) => keyIssuer(redis).store.revoke(record.id));
    await expect.poll(() => redis.zcard(redisKeys.eventQueue(id)), soon).toBe(2);
    await keyIssuer(redis).store.revoke(keyId);
    await removeCustomer(session(), customerId);
    expect(await redis.keys(`*${id}*`)).toEqual([]);
  });
});
