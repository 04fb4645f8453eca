import { z } from 'zod';
import type { SomeLimits } from '../limits/limits.ts';
import { dayMs, dayNumberOf, utcDate } from '../limits/utc-day.ts';
import { byWindow, windowNames, windowOf, type ByWindow, type WindowName } from '../limits/windows.ts';
import { readMonthRecords, unitsOfMonth, unitsOn } from '../quota/usage-days.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import type { CustomerId } from '../redis/redis-keys.ts';
import { maxNamed, nameKeys, readOnce, type PlanReading, type UseByCustomer } from './plan-impact.ts';
import type { ReadingSession, Session } from './session.ts';
import { oldestDay } from './usage-record.ts';

/** What the limit of a calendar window would have done in the past, by the record of use. */
export const pastImpactSchema = z
  .object({
    window: z.enum(windowNames),
    limit: z.int(),
    periods: z
      .int()
      .describe(
        'Days or months that are over, since the first one with use: the last 30 days or 12 months at most, as far as they are kept',
      ),
    overPeriods: z.int().describe('Of these, with a key that has used more than the limit'),
    keys: z.int().describe('Keys that have used more than the limit at least once'),
    most: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          overPeriods: z.int().describe('Days or months on which it has used more than the limit'),
          mostUsed: z.int().describe('On one of them'),
        }),
      )
      .describe(`The ${maxNamed} customers with the most such days or months`),
  })
  .meta({ id: 'PastImpact' });

export type PastImpact = z.infer<typeof pastImpactSchema>;

/** A window that the record of days can answer for. */
type CalendarWindow = 'day' | 'month';

/** Periods that are looked at. */
const lastPeriods: Record<CalendarWindow, number> = { day: 30, month: 12 };

/** The record has days, so it can tell nothing about a shorter window. */
export const isRecorded = (window: WindowName) => windowOf(window).calendar !== undefined;

/** A day or a month of the record. */
interface Period {
  /** As YYYYMM. */
  month: string;
  /** As DD; undefined for a whole month. */
  day?: string;
}

/** Recorded use of customers, from which the past effect of any limits is computed. */
export interface PastUse {
  /** Number of periods by window. */
  periods: ByWindow<number>;
  /** Use in each period, oldest first, of customers with any. */
  customers: UseByCustomer<ByWindow<number[]>>;
}

/** Recorded use of the customers that are on a plan now. @param windows for which periods are read */
export async function pastUse(
  session: ReadingSession,
  windows: readonly WindowName[],
): Promise<PlanReading<PastUse>> {
  const { periods, use } = await begin(session, windows);
  const read = readOnce(use.customers, ({ place, own }) =>
    readCustomer(session.redis, place.customerId, own, periods),
  );
  return { soFar: use, read };
}

/** The same of the customer of one key, also for windows in which it has a limit of its own. */
export async function readPastUseOfKey(
  session: ReadingSession,
  customerId: CustomerId,
  windows: readonly WindowName[],
): Promise<PastUse> {
  const { periods, use } = await begin(session, windows);
  const used = await readCustomer(session.redis, customerId, {}, periods);
  if (used !== undefined) use.customers.set(customerId, { keys: 1, used });
  return use;
}

type Periods = [window: WindowName, periods: Period[]][];

async function begin(session: ReadingSession, windows: readonly WindowName[]) {
  const oldest = await oldestDay(session);
  const periods: Periods = windowNames.flatMap((window) => {
    const { calendar } = windowOf(window);
    if (calendar === undefined || !windows.includes(window)) return [];
    return [[window, periodsOf(calendar, session.now(), oldest)]];
  });
  const ofWindow = new Map(periods);
  const use: PastUse = { periods: byWindow((window) => ofWindow.get(window)?.length), customers: new Map() };
  return { periods, use };
}

/** Days or months that are over and that are kept in whole, oldest first. */
function periodsOf(calendar: CalendarWindow, nowMs: number, oldest: number): Period[] {
  const count = lastPeriods[calendar];
  const now = new Date(nowMs);
  const firstDays = Array.from({ length: count }, (_, index) => {
    const ago = count - index;
    return calendar === 'day'
      ? dayNumberOf(nowMs) - ago
      : Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago) / dayMs;
  });
  return firstDays
    .filter((day) => day >= oldest)
    .map((day) => {
      const date = utcDate(day);
      const month = date.slice(0, 6);
      return calendar === 'day' ? { month, day: date.slice(6) } : { month };
    });
}

/** @returns undefined without use */
async function readCustomer(
  redis: RedisClient,
  id: CustomerId,
  own: SomeLimits,
  periods: Periods,
): Promise<ByWindow<number[]> | undefined> {
  const wanted = periods.filter(([window]) => own[window] === undefined);
  const months = [...new Set(wanted.flatMap(([, ofWindow]) => ofWindow.map(({ month }) => month)))];
  const records = await readMonthRecords(redis, id, months);
  if (Array.from(records.values()).every(({ fields }) => fields.size === 0)) return undefined;
  const used: ByWindow<number[]> = {};
  for (const [window, ofWindow] of wanted) {
    used[window] = ofWindow.map(({ month, day }) => {
      const record = records.get(month);
      if (record === undefined) return 0;
      return day === undefined ? unitsOfMonth(record) : unitsOn(record, day);
    });
  }
  return used;
}

/** What limits would have done, for each window of the record that they limit. */
export async function findPastImpacts(
  session: Pick<Session, 'redis'>,
  use: PastUse,
  limits: SomeLimits,
): Promise<PastImpact[]> {
  const impacts = windowNames.flatMap((window) => {
    const [limit, periods] = [limits[window], use.periods[window]];
    return limit === undefined || periods === undefined
      ? []
      : [pastImpact(use.customers, window, limit, periods)];
  });
  return Promise.all(
    impacts.map(async (impact) => Object.assign(impact, { most: await nameKeys(session, impact.most) })),
  );
}

/** @param length number of periods */
function pastImpact(customers: PastUse['customers'], window: WindowName, limit: number, length: number) {
  let firstUsed = length;
  const overPeriods = new Set<number>();
  let overKeys = 0;
  const over = Array.from(customers).flatMap(
    ([
      id,
      {
        keys,
        used: { [window]: used = [] },
      },
    ]) => {
      const first = used.findIndex((count) => count > 0);
      if (first !== -1) firstUsed = Math.min(firstUsed, first);
      const exceeded = used.flatMap((count, period) => (count > limit ? [period] : []));
      for (const period of exceeded) overPeriods.add(period);
      if (exceeded.length === 0) return [];
      overKeys += keys;
      return [{ id, overPeriods: exceeded.length, mostUsed: Math.max(...used) }];
    },
  );
  const most = over
    .toSorted((one, other) => other.overPeriods - one.overPeriods || other.mostUsed - one.mostUsed)
    .slice(0, maxNamed);
  const periods = length - firstUsed;
  return { window, limit, periods, overPeriods: overPeriods.size, keys: overKeys, most };
}
