import { dayNumberOf, utcDate } from '../../limits/utc-day.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { InvalidOperation } from '../invalid-operation.ts';
import { readRetentionDays } from '../plans/settings.ts';
import type { Session } from '../session.ts';
import { showCustomer } from './stored-customers.ts';

/**
 * Sets the UTC day of a customer back: its day limit counts from 0 again. The record of use keeps what was served, and a month limit
 * counts it.
 * @returns the units that were set back
 * @throws InvalidOperation if there is no such customer, or nothing of its day is used
 */
export async function resetDay({ redis, audit, now }: Session, id: string): Promise<number> {
  const { id: customerId } = await showCustomer(redis, id);
  const date = utcDate(dayNumberOf(now()));
  const [used] = await redis.mget(redisKeys.day(customerId, date));
  const changes = [
    { action: 'usage.reset-day', target: id, before: { date, used }, after: { date, used: '0' } } as const,
  ];
  const units = await audit.make(changes, {
    script: 'resetDayAudited',
    keys: [redisKeys.dayPrefix(customerId)],
    args: [await readRetentionDays(redis)],
  });
  if (!units) throw new InvalidOperation(`the customer ${customerId} has used nothing today (UTC)`);
  return units;
}
