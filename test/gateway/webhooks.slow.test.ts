import { describe, expect, test } from 'vitest';
import { addBan } from '../../gateway/control/bans/bans.ts';
import { changeRedis } from '../../gateway/control/change-redis.ts';
import { changeCustomer, suspendCustomer } from '../../gateway/control/customers/customers.ts';
import { issueFurtherKey, revokeKey, rotateKey } from '../../gateway/control/keys/keys.ts';
import type { Session } from '../../gateway/control/session.ts';
import { readFleetReport } from '../../gateway/control/status/fleet-report.ts';
import { eventTypes, isEventType } from '../../gateway/control/webhooks/event-types.ts';
import {
  changeWebhook,
  listWebhooks,
  readWebhookDeliveries,
  removeWebhook,
  testWebhook,
} from '../../gateway/control/webhooks/webhooks.ts';
import { hashApiKey } from '../../gateway/keys/api-key-format.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { send } from '../support/http/http.ts';
import { localNetworks, startEventsKit } from '../support/kits/events-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { todaysUse } from '../support/stores/day-counter.ts';
import { contentOf, idOf, isSignedBy } from '../support/webhooks/receiver.ts';

const kit = shared(startEventsKit);

const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });
const at = (path: string) => kit.receiver.at(path);
const typesAt = (path: string) => at(path).map((each) => contentOf(each).type);
const patient = { timeout: 30_000 };
/** As an operator makes a change. */
async function change<T>(use: (session: Session) => Promise<T>): Promise<T> {
  const { result } = await changeRedis({ redis: kit.redis, now: Date.now, who: 'Ada', warn: () => {} }, use);
  recordSecrets(JSON.stringify(result));
  return result;
}
const viewOf = async (id: string) => (await listWebhooks(kit.session)).find((webhook) => webhook.id === id);
const outcomesOf = async (id: string) =>
  (await readWebhookDeliveries(kit.session, id)).map(({ outcome, status }) => [outcome, status]);
const expiresIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe('events', () => {
  test('80 % and 100 % of a limit are one signed event each, for webhooks of all customers and of this one', async () => {
    const { key, customerId } = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const other = await kit.issue({ day: 5, minute: 100, plan: 'pro' });
    const own = await kit.webhook('/own', { customerId });
    const all = await kit.webhook('/all', { types: ['quota.threshold'] });
    await kit.webhook('/other', { customerId: other.customerId });
    for (let request = 0; request < 7; request += 1) await pets(key);
    await expect.poll(() => at('/own').length, patient).toBe(2);
    await expect.poll(() => at('/all').length, patient).toBe(2);
    const received = at('/own').toSorted((one) => (one.body.includes('"threshold":80') ? -1 : 1));
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
    expect(at('/all').map(idOf).toSorted()).toEqual(received.map(idOf).toSorted());
    // Given back and used again, as after a failure of ours: the same event.
    await kit.redis.hincrby(...todaysUse(customerId), -2);
    await pets(key);
    await pets(key);
    const eventId = await testWebhook(kit.session, own.id);
    await expect.poll(() => at('/own').map(idOf), patient).toContain(eventId);
    expect(at('/own')).toHaveLength(3);
    expect(at('/other')).toEqual([]);
  });

  test('changes of operators are events with what they say of their type', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    await kit.webhook('/changes', { customerId });
    const { record } = await change((session) => issueFurtherKey(session, customerId, { name: 'Second' }));
    await change((session) => rotateKey(session, record.id, 3_600_000));
    await change((session) => addBan(session, record.id, 60_000, 'OPS-7'));
    await change((session) => revokeKey(session, record.id));
    await change((session) => changeCustomer(session, customerId, { plan: 'pro' }));
    await change((session) => changeCustomer(session, customerId, { notes: 'nothing that is an event' }));
    await change((session) => suspendCustomer(session, customerId));
    const types = 'ban.began customer.suspended key.created key.created key.revoked key.rotated plan.changed';
    await expect.poll(() => typesAt('/changes').toSorted().join(' '), patient).toBe(types);
    for (const each of at('/changes')) {
      const { type, data } = contentOf(each);
      if (!isEventType(type)) throw new Error(type);
      expect(eventTypes[type].data.strict().safeParse(data)).toMatchObject({ success: true });
    }
    expect(new Set(at('/changes').map(idOf)).size).toBe(7);
  });

  test('a key that expires within 7 days is told, unless it was replaced or has another expiry by then', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    await kit.webhook('/expiring', { customerId, types: ['key.expiring'] });
    const issue = (name: string, expiresAt: string) =>
      change((session) => issueFurtherKey(session, customerId, { name, expiresAt: new Date(expiresAt) }));
    const soon = await issue('Soon', expiresIn(6));
    await issue('Late', expiresIn(8));
    const changed = await issue('Changed', expiresIn(7.00006));
    const place = { customerId, keyHash: hashApiKey(changed.key) };
    await kit.redis.hset(redisKeys.apiKey(place), 'expiresAt', expiresIn(9));
    await expect.poll(() => at('/expiring').length, patient).toBe(1);
    const eventId = await testWebhook(kit.session, (await listWebhooks(kit.session)).at(-1)?.id ?? '');
    await expect.poll(() => at('/expiring').map(idOf), { timeout: 15_000 }).toContain(eventId);
    const [first, ...others] = at('/expiring').map((each) => contentOf(each).data);
    expect(first).toMatchObject({ keyId: soon.record.id, keyName: 'Soon' });
    expect(others).toHaveLength(1);
  });
});

describe('deliveries', () => {
  test('a failed attempt is made again, under the same id, and ends in a success', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    const { id } = await kit.webhook('/flaky/1', { customerId });
    await change((session) => suspendCustomer(session, customerId));
    await expect.poll(() => viewOf(id), patient).toMatchObject({ state: 'failing' });
    await expect.poll(() => at('/flaky/1').length, patient).toBe(2);
    expect(new Set(at('/flaky/1').map(idOf)).size).toBe(1);
    const outcomes = async () => (await outcomesOf(id)).join(' ');
    await expect.poll(outcomes).toBe('delivered,200 failed,503');
    await expect.poll(() => viewOf(id)).toMatchObject({ state: 'on', failingSince: null });
  });

  test('what waits is sent only if the webhook still wants its type', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    const { id } = await kit.webhook('/status/500', { customerId });
    await change((session) => suspendCustomer(session, customerId));
    await change((session) => changeCustomer(session, customerId, { plan: 'pro' }));
    await expect.poll(async () => (await outcomesOf(id)).length, patient).toBe(2);
    const url = `${kit.receiver.url}/narrowed`;
    await changeWebhook(kit.session, id, { types: ['plan.changed'], url }, localNetworks);
    await expect.poll(() => typesAt('/narrowed'), patient).toEqual(['plan.changed']);
  });

  test('410 disables at once, and an operator switches it on again', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    const { id } = await kit.webhook('/status/410', { customerId });
    await change((session) => suspendCustomer(session, customerId));
    await expect
      .poll(() => viewOf(id), patient)
      .toMatchObject({ state: 'disabled', disabledBecause: expect.stringContaining('410') });
    await expect.poll(() => outcomesOf(id)).toEqual([['dead', 410]]);
    const metrics = async () => (await send(`${kit.gateway.adminUrl}/metrics`)).text;
    await expect.poll(metrics, patient).toMatch(/^gateway_webhooks_disabled 1$/m);
    const problems = async () => {
      const all = (await readFleetReport(kit.session, false)).problems;
      return all.filter((each) => each.id.startsWith('webhook-disabled'));
    };
    expect(await problems()).toMatchObject([
      { id: `webhook-disabled ${id}`, severity: 'warning', detail: expect.stringContaining('410') },
    ]);
    // Nothing is sent to it, but a test is.
    await change((session) => changeCustomer(session, customerId, { plan: 'pro' }));
    await testWebhook(kit.session, id);
    await expect.poll(() => at('/status/410').length, patient).toBe(2);
    const changed = await changeWebhook(kit.session, id, { enabled: true }, localNetworks);
    expect(changed).toMatchObject({ state: 'on' });
    expect(await problems()).toEqual([]);
    await removeWebhook(kit.session, id);
  });

  test('an event that a receiver refuses, or takes long for, does not hold up the next one', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    const slow = await kit.webhook('/hang', { customerId });
    const refusing = await kit.webhook('/status/400', { customerId });
    const quick = await kit.webhook('/quick', { customerId });
    for (const plan of Array.from({ length: 12 }, (_, turn) => (turn % 2 === 0 ? 'pro' : 'free')))
      await change((session) => changeCustomer(session, customerId, { plan }));
    await expect.poll(() => at('/quick').length, patient).toBe(12);
    await expect.poll(() => new Set(at('/status/400').map(idOf)).size, patient).toBe(12);
    for (const { id } of [slow, refusing, quick]) await removeWebhook(kit.session, id);
  });

  test('a webhook that has failed for 24 hours up to now is disabled, and one that has not been tried for long is not', async () => {
    const { customerId } = await kit.issue({ plan: 'free' });
    const failing = await kit.webhook('/status/500', { customerId });
    const quiet = await kit.webhook('/status/501', { customerId });
    const hoursAgo = (hours: number) => Date.now() - hours * 3_600_000;
    for (const [{ id }, hours] of [
      [failing, 1],
      [quiet, 20],
    ] as const) {
      const status = { failingSince: hoursAgo(24), lastFailure: hoursAgo(hours) };
      await kit.redis.hset(redisKeys.webhookStatus(id), status);
    }
    await change((session) => suspendCustomer(session, customerId));
    await expect.poll(() => viewOf(failing.id), patient).toMatchObject({ state: 'disabled' });
    await expect.poll(() => outcomesOf(quiet.id), patient).toEqual([['failed', 501]]);
    expect(await viewOf(quiet.id)).toMatchObject({ state: 'failing' });
    for (const { id } of [failing, quiet]) await removeWebhook(kit.session, id);
  });

  test('redirects are not followed, and the log keeps 50 attempts', async () => {
    const { id } = await kit.webhook('/redirect', { types: ['ban.began'] });
    for (let test_ = 0; test_ < 52; test_ += 1) await testWebhook(kit.session, id);
    await expect.poll(() => at('/redirect').length, patient).toBe(52);
    await expect.poll(async () => (await outcomesOf(id)).length).toBe(50);
    expect(await readWebhookDeliveries(kit.session, id)).toContainEqual(
      expect.objectContaining({ status: 307, error: 'status 307: redirects are not followed' }),
    );
    expect(at('/ok')).toEqual([]);
  });
});
