import type { Change } from '../../platform/redis/record-change.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId } from '../../platform/redis/redis-keys.ts';
import { fieldsOf } from '../audit/audit-log.ts';
import { placeOf } from '../keys/stored-keys.ts';
import { viewOf } from '../records.ts';
import { publishEvent, scheduleExpiry } from './event-queue.ts';
import { eventTypes, gatewayEvent, type EventType } from './event-types.ts';

/** Events that follow from what operators and customers change, by the action in the audit log. */
const typesByAction: Readonly<Record<string, EventType>> = {
  'keys.issue': 'key.created',
  'keys.rotate': 'key.rotated',
  'keys.revoke': 'key.revoked',
  'customers.set': 'plan.changed',
  'customers.suspend': 'customer.suspended',
  'bans.add': 'ban.began',
};

/** Publishes the events of changes that were made, and has keys looked at before they expire. */
export async function publishChanges(redis: RedisClient, changes: readonly Change[], nowMs: number) {
  for (const { action, target, ...change } of changes) {
    const [before, after] = [fieldsOf(change.before), fieldsOf(change.after)];
    const { expiresAt } = after;
    const isDue = typeof expiresAt === 'string' && expiresAt !== before['expiresAt'];
    if (isDue && target.startsWith('key_') && after['replacedBy'] === undefined)
      await scheduleExpiry(redis, [{ keyId: target, expiresAt }], nowMs);
    const type = typesByAction[action];
    if (type === undefined || (type === 'plan.changed' && before['plan'] === after['plan'])) continue;
    const customerId = isCustomerId(target) ? target : (await placeOf(redis, target))?.customerId;
    if (customerId === undefined) continue;
    const data = viewOf(eventTypes[type].data, {
      ...after,
      customerId,
      keyId: target,
      keyName: after['name'],
      from: before['plan'],
      to: after['plan'],
    });
    const identity = [target, JSON.stringify(data), nowMs];
    await publishEvent(redis, gatewayEvent({ type, customerId, atMs: nowMs, data, identity }));
  }
}
