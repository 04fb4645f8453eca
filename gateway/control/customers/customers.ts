import type { z } from 'zod';
import { apiKeyState } from '../../keys/records.ts';
import { dayNumberOf, utcDate } from '../../limits/windows.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys, type CustomerId } from '../../platform/redis/redis-keys.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import type { customerChangeInput, newCustomerInput, WithoutNulls } from '../keys/key-input.ts';
import { forgetKeys, placesOf } from '../keys/stored-keys.ts';
import { assertRev, retryOvertaken } from '../overtaken-change.ts';
import { readRetentionDays } from '../plans/settings.ts';
import { withChange } from '../records.ts';
import type { Session } from '../session.ts';
import { customerView, readCustomerView, readKeys, type CustomerView } from './find-customers.ts';
import { assertPermitted, listPlan } from './permitted-limits.ts';
import {
  addCustomerToIndex,
  newCustomer,
  showCustomer,
  updateCustomer,
  writeCustomer,
} from './stored-customers.ts';

/** Undefined leaves a field unchanged; null removes it. */
export interface CustomerChange extends z.output<typeof customerChangeInput> {
  /** Rev of the record that the change is based on; any if undefined. */
  rev?: number | undefined;
}

/**
 * Makes a customer without a key.
 * @throws InvalidOperation for an unknown plan, or Enterprise without a limit of its own
 */
export async function createCustomer(
  session: Session,
  wanted: WithoutNulls<z.output<typeof newCustomerInput>>,
): Promise<CustomerView> {
  const { redis, now } = session;
  await assertPermitted(redis, wanted);
  const record = newCustomer(wanted, now());
  await listPlan(redis, record);
  await addCustomerToIndex(redis, record);
  const written = await writeCustomer(session, { action: 'customers.create', before: null }, record);
  return customerView(written ?? record, 0);
}

/**
 * Changes a customer, from the next request of any of its keys on.
 * @throws InvalidOperation as createCustomer does, and if there is no such customer; OvertakenChange for another rev
 */
export async function changeCustomer(session: Session, id: string, { rev, ...change }: CustomerChange) {
  const { redis } = session;
  const record = await updateCustomer(session, id, 'customers.set', async (before) => {
    assertRev(before, rev);
    const edited = withChange(before, change);
    await assertPermitted(redis, edited);
    await listPlan(redis, edited);
    return edited;
  });
  return readCustomerView(session, record);
}

/** The customer as changeCustomer would leave it. @throws InvalidOperation as changeCustomer does */
export async function previewCustomer(session: Session, id: string, change: CustomerChange) {
  const edited = withChange(await showCustomer(session.redis, id), change);
  await assertPermitted(session.redis, edited);
  return readCustomerView(session, edited);
}

/** Refuses all keys of a customer from their next request on. Suspending it again changes nothing. */
export async function suspendCustomer(session: Session, id: string): Promise<CustomerView> {
  const suspendedAt = new Date(session.now()).toISOString();
  const record = await updateCustomer(session, id, 'customers.suspend', (before) =>
    before.suspendedAt === undefined ? { ...before, suspendedAt } : before,
  );
  return readCustomerView(session, record);
}

/** Ends a suspension, from the next request on. @throws InvalidOperation for a customer that is not suspended */
export async function resumeCustomer(session: Session, id: string): Promise<CustomerView> {
  const record = await updateCustomer(session, id, 'customers.resume', (before) => {
    if (before.suspendedAt === undefined) throw new InvalidOperation(`the customer ${id} is not suspended`);
    return { ...before, suspendedAt: undefined };
  });
  return readCustomerView(session, record);
}

/**
 * Sets the UTC day of a customer back: its day limit counts from 0 again. The record of use keeps what was served, and a month limit
 * counts it.
 * @returns the units that were set back
 * @throws InvalidOperation if there is no such customer, or nothing of its day is used
 */
export async function resetDay({ redis, audit, now }: Session, id: string): Promise<number> {
  const { id: customerId } = await showCustomer(redis, id);
  const date = utcDate(dayNumberOf(now()));
  const [month, day] = [date.slice(0, 6), date.slice(6)];
  const counts = await redis.hmget(redisKeys.usageMonth(customerId, month), day, `g${day}`);
  const [served = 0, setBack = 0] = counts.map(Number);
  const before = { date, used: String(served - setBack) };
  const changes = [{ action: 'usage.reset-day', target: id, before, after: { date, used: '0' } }];
  const units = await audit.make(changes, {
    script: 'resetDayAudited',
    keys: [redisKeys.usagePrefix(customerId)],
    args: [await readRetentionDays(redis)],
  });
  if (!units) throw new InvalidOperation(`the customer ${customerId} has used nothing today (UTC)`);
  return units;
}

/**
 * Deletes a customer whose keys have all ended, with the records of these. Its record of use stays.
 * @throws InvalidOperation if there is no such customer, or one of its keys is valid or suspended
 */
export async function removeCustomer(session: Session, id: string): Promise<CustomerView> {
  const { redis, audit } = session;
  return retryOvertaken(`the customer ${id}`, async () => {
    const record = await showCustomer(redis, id);
    const { ids, keys } = await findEndedKeys(session, record.id);
    const removed = await audit.make(
      [{ action: 'customers.remove', target: id, before: record, after: null }],
      {
        script: 'removeCustomerAudited',
        keys: [
          redisKeys.customer(record.id),
          redisKeys.customerKeys(record.id),
          redisKeys.failures(record.id),
          ...keys.flatMap(({ place }) => [redisKeys.apiKey(place), redisKeys.keyUse(place)]),
        ],
        args: [record.rev],
      },
    );
    if (!removed) return undefined;
    await removeFromIndexes(redis, record.id, ids);
    return customerView(record, keys.length);
  });
}

/** @throws InvalidOperation if a key of the customer has not ended */
async function findEndedKeys(session: Session, id: CustomerId) {
  const found = await readKeys(session, id);
  for (const { record } of found.keys) {
    const state = apiKeyState(record, session.now());
    if (state === 'revoked' || state === 'expired') continue;
    throw new InvalidOperation(`the customer ${id} has the key ${record.id}, which is ${state}: revoke it`);
  }
  return found;
}

/** @param ids of its keys, also of those that have no record any more */
async function removeFromIndexes(redis: RedisClient, id: CustomerId, ids: readonly string[]): Promise<void> {
  const places = (await placesOf(redis, ids)).filter((place) => place !== undefined);
  for (const { keyHash } of places) await redis.del(redisKeys.keyCustomer(keyHash));
  await forgetKeys(redis, ids);
  await redis.zrem(redisKeys.customers, id);
}
