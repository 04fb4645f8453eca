import type { Change } from '../../platform/redis/record-change.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId, parsePlace, redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { publishEvent, scheduleExpiry } from './event-queue.ts';
import { gatewayEvent, type EventData, type EventType } from './event-types.ts';

interface Changed {
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  /** Of the key, or the customer itself. */
  customerId: CustomerId;
  target: string;
}

type Derived = { [Type in EventType]: { type: Type; data: EventData<Type> } }[EventType];

const text = (value: unknown) => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);

const keyOf = ({ customerId, target, after }: Changed) => ({
  customerId,
  keyId: target,
  keyName: text(after['name']),
});

function planChange({ customerId, before, after }: Changed): Derived | undefined {
  const [from, to] = [text(before['plan']), text(after['plan'])];
  return from === to ? undefined : { type: 'plan.changed', data: { customerId, from, to } };
}

/** Events that follow from what operators and customers change, by the action in the audit log. */
const derivations: Record<string, (change: Changed) => Derived | undefined> = {
  'keys.issue': (change) => {
    const { expiresAt, replaces } = change.after;
    const data = { ...keyOf(change), expiresAt: textOrNull(expiresAt), replaces: textOrNull(replaces) };
    return { type: 'key.created', data };
  },
  'keys.rotate': (change) => {
    const { expiresAt, replacedBy } = change.after;
    const data = { ...keyOf(change), expiresAt: textOrNull(expiresAt), replacedBy: text(replacedBy) };
    return { type: 'key.rotated', data };
  },
  'keys.revoke': (change) => ({
    type: 'key.revoked',
    data: { ...keyOf(change), revokedAt: text(change.after['revokedAt']) },
  }),
  'customers.set': planChange,
  'customers.suspend': ({ customerId, after }) => ({
    type: 'customer.suspended',
    data: { customerId, suspendedAt: text(after['suspendedAt']) },
  }),
  'bans.add': (change) => {
    const { endsAt, reason } = change.after;
    return {
      type: 'ban.began',
      data: { ...keyOf(change), endsAt: text(endsAt), reason: textOrNull(reason) },
    };
  },
};

/** Publishes the events of changes that were made, and has keys looked at before they expire. */
export async function publishChanges(
  redis: RedisClient,
  changes: readonly Change[],
  nowMs: number,
): Promise<void> {
  for (const change of changes) {
    const { target, before, after } = {
      ...change,
      before: fieldsOf(change.before),
      after: fieldsOf(change.after),
    };
    const expiresAt = text(after['expiresAt']);
    if (
      target.startsWith('key_') &&
      expiresAt !== text(before['expiresAt']) &&
      after['replacedBy'] === undefined
    )
      await scheduleExpiry(redis, [{ keyId: target, expiresAt }], nowMs);
    const derive = derivations[change.action];
    if (derive === undefined) continue;
    const customerId = isCustomerId(target) ? target : await customerOf(redis, target, after);
    if (customerId === undefined) continue;
    const derived = derive({ before, after, customerId, target });
    if (derived === undefined) continue;
    const identity = [target, JSON.stringify(derived.data), nowMs];
    await publishEvent(redis, gatewayEvent({ ...derived, customerId, atMs: nowMs, identity }));
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

async function customerOf(redis: RedisClient, keyId: string, { customerId }: Record<string, unknown>) {
  if (typeof customerId === 'string' && isCustomerId(customerId)) return customerId;
  return parsePlace((await redis.hget(redisKeys.apiKeyIds, keyId)) ?? '')?.customerId;
}
