import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { utcDate } from './utc-day.ts';

/** Use of one API key on one UTC day. */
export interface DayUsage {
  /** Date as YYYY-MM-DD. */
  date: string;
  /** Plan at the key's first request of the day; null if it was not used. */
  plan: string | null;
  /** Requests that counted towards the quotas. */
  served: number;
  /** Requests that were answered with 429. */
  refused: number;
  /** Seconds of the day in which the key was banned. */
  bannedSeconds: number;
}

/** Record of one month as Redis has it. */
export type MonthFields = ReadonlyMap<string, string>;

export async function readUsageMonth(redis: RedisClient, monthKey: string): Promise<MonthFields> {
  const reply = await redis.readUsageMonth(monthKey);
  const fields = new Map<string, string>();
  for (let index = 0; index < reply.length; index += 2)
    fields.set(reply[index] ?? '', reply[index + 1] ?? '');
  return fields;
}

/** A range of days, as numbers of days since the Unix epoch. */
export interface DayRange {
  first: number;
  /** Included. */
  last: number;
  /** The oldest day that is kept: earlier ones count as unused, also if they are not deleted yet. */
  oldest: number;
}

/** Reads each day of a range, oldest first, by one Redis command for each month. */
export async function readUsageDays(
  redis: RedisClient,
  keyHash: string,
  { first, last, oldest }: DayRange,
): Promise<DayUsage[]> {
  const months = new Map(
    await Promise.all(
      monthsOf(Math.max(first, oldest), last).map(async (month): Promise<[string, MonthFields]> => [
        month,
        await readUsageMonth(redis, redisKeys.usageMonth(keyHash, month)),
      ]),
    ),
  );
  return datesOf(first, last).map((date, index) =>
    dayUsage((first + index >= oldest && months.get(monthOf(date))) || unused, date),
  );
}

const unused: MonthFields = new Map();

function datesOf(first: number, last: number): string[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => utcDate(first + index));
}

/** @returns months as YYYYMM, in order */
export function monthsOf(first: number, last: number): string[] {
  return [...new Set(datesOf(first, last).map(monthOf))];
}

const monthOf = (date: string) => date.slice(0, 6);

/**
 * @param fields record of the month
 * @param date date as YYYYMMDD
 */
export function dayUsage(fields: MonthFields, date: string): DayUsage {
  const day = date.slice(6);
  const [served, refused, bannedSeconds] = ['', 'r', 'b'].map((prefix) => countOf(fields.get(prefix + day)));
  const use = { served: served ?? 0, refused: refused ?? 0, bannedSeconds: bannedSeconds ?? 0 };
  const used = use.served + use.refused + use.bannedSeconds > 0;
  const iso = `${date.slice(0, 4)}-${date.slice(4, 6)}-${day}`;
  return { date: iso, plan: used ? planOn(fields, day) : null, ...use };
}

/** The plan is recorded on its first day only. A day before that, if Redis' clock was set back, gets the first one. */
function planOn(fields: MonthFields, day: string): string | null {
  const starts = [...fields.keys()].filter((field) => /^p\d\d$/.test(field)).toSorted();
  const start = starts.findLast((field) => field <= `p${day}`) ?? starts[0];
  return start === undefined ? null : (fields.get(start) ?? null);
}

/** A value that was edited into anything but a whole number counts as 0, as in the scripts. */
function countOf(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}
