import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readDeliveries } from '../../gateway/events/delivery-store.ts';
import { startEventLeader } from '../../gateway/events/event-leader.ts';
import { eventTypes, isEventType } from '../../gateway/events/event-types.ts';
import { createPlanThresholds } from '../../gateway/events/plan-thresholds.ts';
import { createWebhookSender } from '../../gateway/events/send-webhook.ts';
import { dayNumberOf, utcDate } from '../../gateway/limits/utc-day.ts';
import { createMetrics } from '../../gateway/observability/metrics.ts';
import { addWebhook, changeWebhook, listWebhooks, replayEvents } from '../../gateway/operations/webhooks.ts';
import { createPlans } from '../../gateway/plans/plans.ts';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import { createHashReader } from '../../gateway/redis/hash-reader.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { eventSession, localRules, webhookSettings } from '../support/kits/events-kit.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';
import { crossThresholds } from '../support/webhooks/cross-thresholds.ts';
import { contentOf, idOf, startReceiver, type Receiver } from '../support/webhooks/receiver.ts';

const leads = (gateway: Service) => gateway.output().includes('this process delivers events');

describe('events, when something fails', { tags: ['redis-server'] }, () => {
  let stack: AsyncDisposableStack;
  let server: RedisServer;
  let redis: RedisClient;
  let receiver: Receiver;
  let start: () => Promise<Service>;
  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    server = stack.use(await startRedisServer());
    receiver = stack.use(await startReceiver());
    const upstream = stack.use(await startUpstream());
    redis = await connectRedis(server.url);
    await seedDefaults(redis, 'tests');
    stack.defer(() => redis.disconnect());
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url, ...webhookSettings };
    start = async () => stack.use(await startGateway(env));
  });
  afterEach(() => stack.disposeAsync());

  const add = (owner: CustomerId | 'operators', path: string, types?: string[]) =>
    addWebhook(eventSession(redis), owner, { url: `${receiver.url}${path}`, types }, localRules);
  /** The first leader of all reads the audit log from then on. */
  const leaderBegun = async () => {
    await expect.poll(() => redis.hget(redisKeys.eventState, 'audit'), { timeout: 30_000 }).not.toBeNull();
  };
  const published = async () => {
    const items = await redis.xrange(redisKeys.events, '-', '+');
    return items.map(([, list]) => list[list.indexOf('id') + 1] ?? '');
  };

  test('a lost threshold and a key that expires are found once, also by the next leader', async () => {
    const keys = keyIssuer(redis);
    const { customerId } = await keys.issue({ plan: 'free', name: 'Ada' });
    await add(customerId, '/found');
    await keys.store.issueFor(customerId, { expiresAt: new Date(Date.now() + 86_400_000), name: 'soon' });
    await keys.store.issueFor(customerId, { expiresAt: new Date(Date.now() + 8 * 86_400_000) });
    const replaced = await keys.store.issueFor(customerId, { expiresAt: new Date(Date.now() + 86_400_000) });
    await keys.store.rotate(replaced.record.id, 3_600_000);
    await redis.set(redisKeys.day(customerId, utcDate(dayNumberOf(Date.now()))), 850);
    const first = await start();
    const swept = () =>
      receiver
        .at('/found')
        .map(contentOf)
        .filter(({ type }) => type !== 'key.created' && type !== 'key.rotated');
    await expect
      .poll(() =>
        swept()
          .map(({ type }) => type)
          .toSorted(),
      )
      .toEqual(['key.expiring', 'key.expiring', 'quota.threshold']);
    for (const { type, data } of swept()) {
      expect(isEventType(type) && eventTypes[type].data.strict().safeParse(data).error).toBe(undefined);
    }
    expect(swept().find(({ type }) => type === 'quota.threshold')?.data).toMatchObject({
      threshold: 80,
      used: 850,
    });
    const before = await published();
    await first.stop();
    const second = await start();
    await expect.poll(() => leads(second)).toBe(true);
    // The sweep of the new leader is over when it has found what is new.
    await redis.set(redisKeys.day(customerId, utcDate(dayNumberOf(Date.now()))), 1000);
    const third = await start();
    await second.stop();
    await expect.poll(() => leads(third), { timeout: 20_000 }).toBe(true);
    await expect.poll(() => swept().length).toBe(5);
    expect((await published()).slice(0, before.length)).toEqual(before);
    expect((await published()).length).toBe(before.length + 1);
  });

  test('a leader that is killed is replaced, and its events arrive in order under their ids', async () => {
    const gateways = [await start(), await start()];
    await expect.poll(() => gateways.filter(leads).length).toBe(1);
    const leader = gateways.find(leads);
    const other = gateways.find((gateway) => gateway !== leader);
    const keys = keyIssuer(redis);
    const issued = await Promise.all(
      Array.from({ length: 5 }, () => keys.store.issue({ plan: 'pro', name: 'x', day: 5, minute: 100 })),
    );
    await add('operators', '/slow/all', ['quota.threshold']);
    const get = (key: string) => send(`${other?.url}/v1/pets`, { key });
    await Promise.all(
      issued.map(async ({ key }) => {
        for (let request = 0; request < 5; request += 1) await get(key);
      }),
    );
    await expect.poll(() => receiver.at('/slow/all').length).toBeGreaterThan(0);
    leader?.signal('SIGKILL');
    await leader?.exited;
    const idsOf = (customerId: string) => [
      ...new Set(
        receiver
          .at('/slow/all')
          .filter((each) => contentOf(each).data['customerId'] === customerId)
          .map(idOf),
      ),
    ];
    await expect
      .poll(() => issued.map(({ record }) => idsOf(record.customerId).length), { timeout: 30_000 })
      .toEqual(issued.map(() => 2));
    const inStream = await published();
    const ofStream = inStream.filter((id) =>
      issued.some(({ record }) => idsOf(record.customerId).includes(id)),
    );
    expect(ofStream.length).toBe(10);
    for (const { record } of issued) {
      const ids = idsOf(record.customerId);
      expect(ids).toEqual(ofStream.filter((id) => ids.includes(id)));
    }
  });

  test('while Redis is down nothing is lost: thresholds that were crossed before and after are each one event', async () => {
    const gateway = await start();
    const { key, customerId } = await keyIssuer(redis).issue({ plan: 'pro', day: 5, minute: 1000 });
    await add(customerId, '/outage', ['quota.threshold']);
    const get = () => send(`${gateway.url}/v1/pets`, { key });
    for (let request = 0; request < 4; request += 1) await get();
    await expect.poll(() => receiver.at('/outage').length).toBe(1);
    await server.kill();
    await expect.poll(async () => (await send(`${gateway.adminUrl}/readyz`)).text).toContain('unavailable');
    await server.restart();
    await expect
      .poll(async () => (await send(`${gateway.adminUrl}/readyz`)).text, { timeout: 20_000 })
      .not.toContain('unavailable');
    await get();
    // What was sent, but not recorded when Redis was killed, is sent again under the same id.
    const shares = () => [
      ...new Map(
        receiver.at('/outage').map((each) => [idOf(each), contentOf(each).data['threshold']]),
      ).values(),
    ];
    await expect.poll(shares, { timeout: 30_000 }).toEqual([80, 100]);
  });

  test('a gateway that is killed while customers cross thresholds loses none: each is one event', async () => {
    await crossThresholds({ redis, receiver, start, customers: 60 });
  });

  test('a webhook that is made while the leader has much to read gets the events from then on', async () => {
    const gateway = await start();
    await leaderBegun();
    const entries = redis.pipeline();
    for (let entry = 0; entry < 3000; entry += 1) {
      entries.xadd(redisKeys.audit, '*', 'action', 'plans.set', 'target', 'pro');
    }
    await entries.exec();
    const { customerId, key } = await keyIssuer(redis).issue({ plan: 'pro', day: 5 });
    await add(customerId, '/early', ['quota.threshold']);
    for (let request = 0; request < 5; request += 1) await send(`${gateway.url}/v1/pets`, { key });
    const shares = () => receiver.at('/early').map((each) => contentOf(each).data['threshold']);
    await expect.poll(shares, { timeout: 20_000 }).toEqual([80, 100]);
  });

  test('an event that fails to the end is a dead letter, the next one is sent, and a replay sends the first again', async () => {
    const { customerId } = await keyIssuer(redis).issue();
    const session = eventSession(redis);
    const { id } = await add(customerId, '/fail', ['key.created']);
    const hashes = createHashReader(redis);
    const invalidValues = { report: () => {}, forget: () => {}, list: () => [] };
    const leader = startEventLeader({
      redis,
      plans: createPlans({ hashes, invalidValues, readOthers: () => Promise.resolve([]), now: Date.now }),
      thresholds: createPlanThresholds({ hashes, invalidValues }),
      sender: createWebhookSender({ rules: localRules, now: Date.now }),
      metrics: createMetrics({ droppedLogLines: () => 0 }),
      log: pino({ level: 'silent' }),
      now: Date.now,
      syncClock: () => Promise.resolve(),
      delaysMs: [10, 10],
    });
    stack.defer(() => leader.close());
    await leaderBegun();
    await keyIssuer(redis).store.issueFor(customerId, { name: 'first' });
    await keyIssuer(redis).store.issueFor(customerId, { name: 'second' });
    await expect
      .poll(async () => (await listWebhooks(session, customerId))[0])
      .toMatchObject({ dead: 2, queued: 0 });
    const attempts = (await readDeliveries(redis, id)).map(({ outcome, attempt }) => `${outcome} ${attempt}`);
    expect(attempts.toReversed()).toEqual([
      'failed 1',
      'failed 2',
      'dead 3',
      'failed 1',
      'failed 2',
      'dead 3',
    ]);
    const names = () => receiver.at('/fail').map((each) => contentOf(each).data['keyName']);
    expect(names()).toEqual(['first', 'first', 'first', 'second', 'second', 'second']);
    await changeWebhook(session, customerId, id, { url: `${receiver.url}/mended` }, localRules);
    expect(await replayEvents(session, customerId, id)).toEqual({ replayed: 2 });
    await expect
      .poll(() => receiver.at('/mended').map((each) => contentOf(each).data['keyName']))
      .toEqual(['first', 'second']);
    expect(receiver.at('/mended').map(idOf)).toEqual([...new Set(receiver.at('/fail').map(idOf))]);
    expect((await listWebhooks(session, customerId))[0]).toMatchObject({ dead: 0, state: 'on' });
  });

  test('a webhook that failed for three days is disabled, gets nothing, and goes on when it is switched on', async () => {
    const { customerId } = await keyIssuer(redis).issue();
    const session = eventSession(redis);
    const { id } = await add(customerId, '/disabled', ['key.created']);
    const { id: control } = await add(customerId, '/control', ['key.created']);
    await redis.hset(redisKeys.eventState, `failing:${id}`, Date.now() - 3 * 86_400_000 - 1000);
    await start();
    await leaderBegun();
    await keyIssuer(redis).store.issueFor(customerId, { name: 'missed' });
    await expect.poll(() => receiver.at('/control').length).toBe(1);
    const states = async () =>
      (await listWebhooks(session, customerId)).map((webhook) => [webhook.id, webhook.state]);
    expect(await states()).toEqual([
      [id, 'disabled'],
      [control, 'on'],
    ]);
    expect(receiver.at('/disabled')).toEqual([]);
    await changeWebhook(session, customerId, id, { enabled: true }, localRules);
    await keyIssuer(redis).store.issueFor(customerId, { name: 'again' });
    await expect
      .poll(() => receiver.at('/disabled').map((each) => contentOf(each).data['keyName']))
      .toEqual(['again']);
  });

  test('a billing feed that was down for three days gets the use of each day that it missed, and goes on where it was', async () => {
    const keys = keyIssuer(redis);
    const day = dayNumberOf(Date.now());
    const customers: CustomerId[] = [];
    for (let index = 0; index < 10; index += 1) customers.push((await keys.issue()).customerId);
    for (const [index, customerId] of customers.entries()) {
      for (const ago of [2, 3, 4]) {
        const date = utcDate(day - ago);
        const use = { [date.slice(6)]: 100 * ago + index, [`p${date.slice(6)}`]: 'free', plan: 'free' };
        await redis.hset(redisKeys.usageMonth(customerId, date.slice(0, 6)), use);
      }
    }
    const session = eventSession(redis);
    const past = { ...session, now: () => Date.now() - 4 * 86_400_000 };
    const hook = { url: `${receiver.url}/fail`, types: ['usage.day'] };
    const { id } = await addWebhook(past, 'operators', hook, localRules);
    const first = await start();
    await expect.poll(() => receiver.at('/fail').length, { timeout: 30_000 }).toBe(8);
    await first.stop();
    await changeWebhook(session, 'operators', id, { url: `${receiver.url}/feed` }, localRules);
    await start();
    const rows = () =>
      new Map(
        receiver.at('/feed').map((each) => {
          const { customerId, date, served } = contentOf(each).data;
          return [idOf(each), `${String(date)} ${customers.indexOf(customerId as never)} ${String(served)}`];
        }),
      );
    await expect.poll(() => rows().size, { timeout: 30_000 }).toBe(30);
    const iso = (ago: number) => new Date((day - ago) * 86_400_000).toISOString().slice(0, 10);
    const expected = [4, 3, 2].flatMap((ago) =>
      customers.map((_, index) => `${iso(ago)} ${index} ${100 * ago + index}`),
    );
    expect(new Set(rows().values())).toEqual(new Set(expected));
    // Days come in their order, and all of them under the ids of the attempts that failed.
    const dates = [...rows().values()].map((row) => row.slice(0, 10));
    expect(dates).toEqual(dates.toSorted());
    expect(receiver.at('/fail').every((each) => rows().has(idOf(each)))).toBe(true);
  });
});
