import { dayNumberOf, utcDate } from '../../limits/windows.ts';
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
