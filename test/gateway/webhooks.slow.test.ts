import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventTypes, isEventType } from '../../gateway/events/event-types.ts';
import { addBan } from '../../gateway/operations/bans.ts';
import { changeCustomer, suspendCustomer } from '../../gateway/operations/customers.ts';
import {
  changeWebhook,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
  replayEvents,
  rotateWebhookSecret,
  testWebhook,
} from '../../gateway/operations/webhooks.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { localRules, startEventsKit, type EventsKit } from '../support/kits/events-kit.ts';
import { keyIssuer } from '../support/kits/keys.ts';
import { contentOf, idOf, isSignedBy, type Received } from '../support/webhooks/receiver.ts';

let kit: EventsKit;
beforeAll(async () => {
  kit = await startEventsKit();
});
afterAll(() => kit[Symbol.asyncDispose]());

const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
const sharesAt = (path: string) => kit.receiver.at(path).map((each) => contentOf(each).data['threshold']);
const typesOf = (received: readonly Received[]) => received.map((each) => contentOf(each).type);

describe('events of a customer', () => {
  test('each threshold is one signed event, in order, to the webhooks of the customer and of operators', async () => {
    const { key, customerId } = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const other = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const own = await kit.webhook(customerId, '/own');
    const all = await kit.webhook('operators', '/all', ['quota.threshold']);
    await kit.webhook(other.customerId, '/other');
    for (let request = 0; request < 7; request += 1) await pets(key);
    await expect.poll(() => kit.receiver.at('/own').length).toBe(2);
    await expect.poll(() => kit.receiver.at('/all').length).toBe(2);
    const received = kit.receiver.at('/own');
    expect(received.map((each) => contentOf(each).data)).toMatchObject([
      { customerId, window: 'day', threshold: 80, limit: 5, used: 4 },
      { customerId, window: 'day', threshold: 100, limit: 5, used: 5 },
    ]);
    for (const each of received) {
      const { type, data, timestamp } = contentOf(each);
      expect(isEventType(type) && eventTypes[type].data.strict().safeParse(data).success).toBe(true);
      expect(Date.parse(timestamp)).toBeGreaterThan(Date.now() - 60_000);
      expect(isSignedBy(own.secret, each)).toBe(true);
      expect(isSignedBy(all.secret, each)).toBe(false);
    }
    expect(kit.receiver.at('/all').map(idOf)).toEqual(received.map(idOf));
    expect(kit.receiver.at('/other')).toEqual([]);
  });

  test('a cost above 1 crosses a threshold once, and own thresholds go before those of the plan', async () => {
    const { key, customerId } = await kit.issue({ day: 4, minute: 100, plan: 'enterprise' });
    await changeCustomer(kit.session, customerId, { thresholds: [25, 50] });
    await kit.webhook(customerId, '/thresholds', ['quota.threshold']);
    await kit.webhook('operators', '/all-thresholds', ['quota.threshold']);
    for (let request = 0; request < 4; request += 1) await pets(key);
    await expect.poll(() => kit.receiver.at('/all-thresholds').length).toBe(4);
    expect(sharesAt('/all-thresholds')).toEqual([25, 50, 80, 100]);
    expect(sharesAt('/thresholds')).toEqual([25, 50]);
  });

  test('a customer that wants no events silences its own webhooks and not those of operators', async () => {
    const { key, customerId } = await kit.issue({ day: 5, minute: 100, plan: 'enterprise' });
    await changeCustomer(kit.session, customerId, { thresholds: [] });
    const own = await kit.webhook(customerId, '/silent', ['quota.threshold']);
    const since = new Date();
    await kit.webhook('operators', '/not-silenced', ['quota.threshold']);
    for (let request = 0; request < 5; request += 1) await pets(key);
    await expect.poll(() => sharesAt('/not-silenced')).toEqual([80, 100]);
    expect(await replayEvents(kit.session, customerId, own.id, since)).toEqual({ replayed: 0 });
    // Events of one customer come in their order.
    const eventId = await testWebhook(kit.session, customerId, own.id);
    await expect.poll(() => kit.receiver.at('/silent').map(idOf)).toEqual([eventId]);
  });

  test('changes of operators are events, from the audit log, in their order', async () => {
    const { customerId, id } = await kit.issue({ name: 'Ada' });
    await kit.webhook(customerId, '/changes');
    const { store } = keyIssuer(kit.redis);
    const issued = await store.issueFor(customerId, { name: 'second' });
    const rotated = await store.rotate(issued.record.id, 60_000);
    await addBan(kit.session, id, 60_000, 'scraping');
    await changeCustomer(kit.session, customerId, { plan: 'pro' });
    await changeCustomer(kit.session, customerId, { notes: 'no event' });
    await store.revoke(id);
    await suspendCustomer(kit.session, customerId);
    // Not that the first key was created, if that was in the same millisecond as the webhook.
    const changes = () =>
      kit.receiver
        .at('/changes')
        .filter((each) => contentOf(each).type !== 'key.created' || contentOf(each).data['keyId'] !== id);
    await expect
      .poll(() => typesOf(changes()))
      .toEqual([
        'key.created',
        'key.created',
        'key.rotated',
        'ban.began',
        'plan.changed',
        'key.revoked',
        'customer.suspended',
      ]);
    const received = changes().map(contentOf);
    for (const { type, data } of received) {
      expect(isEventType(type) && eventTypes[type].data.strict().safeParse(data).error).toBe(undefined);
    }
    expect(received[2]?.data).toMatchObject({ keyId: issued.record.id, replacedBy: rotated.record.id });
    expect(received[3]?.data).toMatchObject({ keyId: id, reason: 'scraping' });
    expect(received[4]?.data).toEqual({ customerId, from: 'free', to: 'pro' });
  });

  test('a ban by a gateway is one event', async () => {
    const { key, customerId, id } = await kit.issue({ minute: 1, day: 1000, plan: 'pro' });
    await kit.redis.hset(redisKeys.banPolicy, { graceSeconds: 0, strikes: 3, strikesPerLimit: 0 });
    await kit.webhook(customerId, '/bans', ['ban.began']);
    await expect
      .poll(async () => (await pets(key)).json, { timeout: 20_000 })
      .toMatchObject({ code: 'api_key_banned' });
    await pets(key);
    await expect.poll(() => kit.receiver.at('/bans').length).toBe(1);
    expect(contentOf(kit.receiver.at('/bans')[0] as Received).data).toMatchObject({
      keyId: id,
      reason: null,
    });
  });
});

describe('a webhook', () => {
  test('that hangs, fails, floods or redirects delays no other one', async () => {
    const { customerId, key } = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const paths = ['/hang', '/fail', '/redirect/307', '/flood', '/slow/1', '/quick'];
    const webhooks = new Map<string, { id: string }>();
    for (const path of paths.slice(0, 5))
      webhooks.set(path, await kit.webhook(customerId, path, ['quota.threshold']));
    await kit.webhook('operators', '/quick', ['quota.threshold']);
    for (let request = 0; request < 5; request += 1) await pets(key);
    const ofCustomer = (path: string) =>
      kit.receiver.at(path).filter((each) => contentOf(each).data['customerId'] === customerId);
    await expect.poll(() => ofCustomer('/quick').length).toBe(2);
    await expect.poll(() => ofCustomer('/slow/1').length).toBe(2);
    const shares = ofCustomer('/slow/1').map((each) => contentOf(each).data['threshold']);
    expect(shares).toEqual([80, 100]);
    const errorOf = async (path: string) =>
      (await readWebhookDeliveries(kit.session, customerId, webhooks.get(path)?.id ?? '')).at(-1)?.error;
    await expect.poll(() => errorOf('/fail')).toBe('status 500');
    await expect.poll(() => errorOf('/redirect/307')).toBe('redirects are not followed');
    await expect.poll(() => errorOf('/hang'), { timeout: 30_000 }).toBe('no response within 15 s');
    // The response of a flood has begun with 200, and the rest is not read.
    await expect.poll(() => ofCustomer('/flood').length).toBeGreaterThan(0);
    expect(kit.receiver.at('/ok')).toEqual([]);
    // The second threshold waits for the first one.
    expect(new Set(ofCustomer('/fail').map(idOf)).size).toBe(1);
    const listed = await listWebhooks(kit.session, customerId);
    expect(listed.find(({ url }) => url.endsWith('/fail'))).toMatchObject({
      state: 'failing',
      queued: 2,
      dead: 0,
    });
  });

  test('that fails for a moment gets the same event again, and then the next one', async () => {
    const { customerId, key } = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const { id } = await kit.webhook(customerId, '/flaky/1', ['quota.threshold']);
    for (let request = 0; request < 5; request += 1) await pets(key);
    await expect.poll(() => kit.receiver.at('/flaky/1').length, { timeout: 30_000 }).toBe(4);
    const ids = kit.receiver.at('/flaky/1').map(idOf);
    expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2]]);
    await expect
      .poll(async () =>
        (await readWebhookDeliveries(kit.session, customerId, id)).map(({ outcome }) => outcome),
      )
      .toEqual(['delivered', 'failed', 'delivered', 'failed']);
    expect((await listWebhooks(kit.session, customerId))[0]).toMatchObject({ state: 'on', queued: 0 });
  });

  test('has a test, which only this one gets, and a rotation with both signatures', async () => {
    const { customerId } = await kit.issue();
    const { id, secret } = await kit.webhook(customerId, '/tested');
    await kit.webhook(customerId, '/untested');
    const at = () => kit.receiver.at('/tested').filter((each) => contentOf(each).type === 'webhook.test');
    const eventId = await testWebhook(kit.session, customerId, id);
    await expect.poll(() => at().map(idOf)).toEqual([eventId]);
    const rotated = await rotateWebhookSecret(kit.session, customerId, id, 60_000);
    await testWebhook(kit.session, customerId, id);
    await expect.poll(() => at().length).toBe(2);
    const again = await rotateWebhookSecret(kit.session, customerId, id, 0);
    await testWebhook(kit.session, customerId, id);
    await expect.poll(() => at().length).toBe(3);
    const signers = at().map((each) =>
      [secret, rotated.secret, again.secret].map((one) => isSignedBy(one, each)),
    );
    expect(signers).toEqual([
      [true, false, false],
      [true, true, false],
      [false, false, true],
    ]);
    expect(kit.receiver.at('/untested')).toEqual([]);
  });

  test('has 30 tests in a minute, together with the others of its owner', async () => {
    const { customerId } = await kit.issue();
    const other = await kit.issue();
    const [one, two, foreign] = [
      await kit.webhook(customerId, '/bounded', ['ban.began']),
      await kit.webhook(customerId, '/bounded', ['ban.began']),
      await kit.webhook(other.customerId, '/bounded', ['ban.began']),
    ];
    // One minute of the clock, however long this takes.
    const session = { ...kit.session, now: () => started };
    const started = Date.now();
    for (let count = 0; count < 15; count += 1) {
      await testWebhook(session, customerId, one.id);
      await testWebhook(session, customerId, two.id);
    }
    await expect(testWebhook(session, customerId, one.id)).rejects.toThrow('30 tests in this minute');
    await testWebhook(session, other.customerId, foreign.id);
    const next = { ...session, now: () => started + 60_000 };
    await testWebhook(next, customerId, two.id);
    await expect.poll(() => kit.receiver.at('/bounded').length, { timeout: 30_000 }).toBe(32);
    expect(new Set(kit.receiver.at('/bounded').map(idOf)).size).toBe(32);
  });

  test('gets nothing while it is off or after it was removed, and what was missed by a replay', async () => {
    const { customerId } = await kit.issue();
    const { store } = keyIssuer(kit.redis);
    const { id } = await kit.webhook(customerId, '/replayed', ['key.created']);
    const since = new Date();
    await changeWebhook(kit.session, customerId, id, { enabled: false }, localRules);
    const { record } = await store.issueFor(customerId, { name: 'missed' });
    const control = await kit.webhook(customerId, '/control', ['key.revoked']);
    await store.revoke(record.id);
    await expect.poll(() => kit.receiver.at('/control').length).toBe(1);
    await changeWebhook(kit.session, customerId, id, { enabled: true }, localRules);
    expect(kit.receiver.at('/replayed')).toEqual([]);
    expect(await replayEvents(kit.session, customerId, id, since)).toEqual({ replayed: 1 });
    await expect.poll(() => kit.receiver.at('/replayed').length).toBe(1);
    await removeWebhook(kit.session, customerId, id);
    await store.issueFor(customerId, { name: 'after' });
    const revoked = await store.issueFor(customerId, { name: 'revoked' });
    await store.revoke(revoked.record.id);
    await expect.poll(() => kit.receiver.at('/control').length).toBe(2);
    expect(kit.receiver.at('/replayed').length).toBe(1);
    expect(await kit.redis.keys(`*${id}*`)).toEqual([]);
    expect(control.id).not.toBe(id);
  });

  test('never has its secret in the log, the metrics or the audit log', async () => {
    const { customerId } = await kit.issue();
    const { id, secret } = await kit.webhook(customerId, '/secret/token-in-path');
    const rotated = await rotateWebhookSecret(kit.session, customerId, id, 1000);
    await testWebhook(kit.session, customerId, id);
    await expect.poll(() => kit.receiver.at('/secret/token-in-path').length).toBeGreaterThan(0);
    const exposed = [
      kit.gateway.output(),
      (await send(`${kit.gateway.adminUrl}/metrics`)).text,
      JSON.stringify(await kit.redis.xrange(redisKeys.audit, '-', '+')),
    ].join('\n');
    expect(exposed).toContain('webhooks.add');
    for (const hidden of [secret, rotated.secret, 'token-in-path']) expect(exposed).not.toContain(hidden);
  });
});
