import { z } from 'zod';
import type { Limits } from '../limits/limits.ts';
import { mapWindows, utcDate, windows, type ByWindow, type WindowState } from '../limits/windows.ts';
import type { RedisClient } from '../platform/redis/redis-client.ts';
import { quotaKeys, redisKeys, type CustomerId, type KeyPlace } from '../platform/redis/redis-keys.ts';
import { scriptOutcome } from '../platform/redis/scripts.ts';
import { operatorsReason } from './bans.ts';
import { windowStates } from './quota-decision.ts';
import { parseUses } from './redis-quota.ts';

export interface UsedWindow extends WindowState {
  /** Requests counted. More than the limit if that was lowered in the meantime. */
  used: number;
}

/** Use of the quotas of a key's customer, and the ban of the key. Reading it counts nothing. */
export interface Usage {
  /** Each window with a limit. */
  windows: ByWindow<UsedWindow>;
  /** Milliseconds to the end of the ban; 0 for a key that is not banned. */
  banMs: number;
  /** Reason that an operator gave for the ban. */
  banReason: string | undefined;
  /** Refused requests that count towards a ban now. */
  strikes: number;
  /** Redis' clock, in Unix milliseconds. */
  nowMs: number;
}

interface ReadUsageOptions {
  place: KeyPlace;
  /** Rev of the record that the limits are from, or anyRev. */
  rev: number;
  limits: Limits;
  banPolicy: { windowSeconds: number };
}

/**
 * Reads the windows of a key's customer by one Redis command.
 * @returns undefined if the record has changed since it was read
 */
export async function readUsage(redis: RedisClient, options: ReadUsageOptions): Promise<Usage | undefined> {
  const { place, rev, limits, banPolicy } = options;
  const reply = await redis.readUsage(
    ...quotaKeys(place),
    rev,
    banPolicy.windowSeconds * 1000,
    ...windows.map(({ name }) => limits[name] ?? ''),
  );
  const [outcome, nowMs = 0, banMs = 0, strikes = 0, ban = ''] = reply;
  if (outcome !== scriptOutcome.allowed) return undefined;
  const uses = parseUses(reply, 5, limits, nowMs);
  const used = mapWindows(windowStates(limits, uses), (state, name) => ({
    ...state,
    used: uses[name]?.used ?? 0,
  }));
  return { windows: used, banMs, banReason: operatorsReason(String(ban)), strikes, nowMs };
}

/** Use of one customer on one UTC day. */
export const dayUsageSchema = z.object({
  date: z.iso.date(),
  plan: z.string().nullable().describe('Plan at the first request of the day; null if the key was not used'),
  served: z.int().describe('Requests that counted towards the quotas'),
  units: z.exactOptional(
    z.int().describe('Units of the quotas that these cost, if some of them cost more than one'),
  ),
  refused: z.int().describe('Requests that a limit or a ban refused: 429, or 403 cost_exceeds_limit'),
});

export type DayUsage = z.infer<typeof dayUsageSchema>;

/** Record of one month as Redis has it. */
interface MonthRecord {
  fields: ReadonlyMap<string, string>;
  /** Fields of plans, in the order of their days. */
  plans: readonly string[];
}

/** Reads months of a customer's use. @param months as YYYYMM */
export async function readMonthRecords(
  redis: RedisClient,
  customerId: CustomerId,
  months: readonly string[],
): Promise<Map<string, MonthRecord>> {
  const records = await Promise.all(
    months.map((month) => redis.hgetall(redisKeys.usageMonth(customerId, month))),
  );
  return new Map(months.map((month, index) => [month, parseMonth(records[index] ?? {})]));
}

function parseMonth(record: Readonly<Record<string, string>>): MonthRecord {
  const fields = new Map(Object.entries(record));
  const plans = [...fields.keys()].filter((field) => /^p\d\d$/.test(field)).toSorted();
  return { fields, plans };
}

/** A range of days, as numbers of days since the Unix epoch. */
interface DayRange {
  first: number;
  /** Included. */
  last: number;
  /** The oldest day that is kept: earlier ones count as unused, also if they are not deleted yet. */
  oldest: number;
}

/** Reads each day of a range, oldest first. */
export async function readUsageDays(
  redis: RedisClient,
  customerId: CustomerId,
  { first, last, oldest }: DayRange,
): Promise<DayUsage[]> {
  const dates = datesOf(first, last);
  const months = await readMonthRecords(redis, customerId, [...new Set(dates.map(monthOf))]);
  return dates.map((date, index) =>
    dayUsage((first + index >= oldest && months.get(monthOf(date))) || unused, date),
  );
}

const unused: MonthRecord = { fields: new Map(), plans: [] };

function datesOf(first: number, last: number): string[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => utcDate(first + index));
}

/** @returns the dates of a range as YYYYMMDD by their month as YYYYMM, in order */
export function datesByMonth(first: number, last: number): Map<string, string[]> {
  return Map.groupBy(datesOf(first, last), monthOf);
}

const monthOf = (date: string) => date.slice(0, 6);

/**
 * @param record record of the month
 * @param date date as YYYYMMDD
 */
export function dayUsage(record: MonthRecord, date: string): DayUsage {
  const { fields } = record;
  const day = date.slice(6);
  const units = countOf(fields.get(day));
  const beyond = countOf(fields.get(`x${day}`));
  const use = {
    served: Math.max(0, units - beyond),
    refused: countOf(fields.get(`r${day}`)),
  };
  const used = use.served + use.refused > 0;
  const iso = `${date.slice(0, 4)}-${date.slice(4, 6)}-${day}`;
  return { date: iso, plan: used ? planOn(record, day) : null, ...use, ...(beyond > 0 ? { units } : {}) };
}

/** The plan is recorded on its first day only. A day before that, if Redis' clock was set back, gets the first one. */
function planOn({ fields, plans }: MonthRecord, day: string): string | null {
  const start = plans.findLast((field) => field <= `p${day}`) ?? plans[0];
  return start === undefined ? null : (fields.get(start) ?? null);
}

/** A value that was edited into anything but a whole number counts as 0, as in the scripts. */
function countOf(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0;
}
