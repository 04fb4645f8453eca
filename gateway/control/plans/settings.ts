import { errorMessage } from '#runtime/error-message.ts';
import { readEnforcedSettings } from '../../platform/redis/process-statuses.ts';
import type { Change } from '../../platform/redis/record-change.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import type { Fields, Setting } from '../../platform/redis/settings.ts';
import { wholeSettings } from '../../quota/default-settings.ts';
import { planOfKey } from '../../quota/plan-settings.ts';
import { usageSetting } from '../../quota/policies.ts';
import { OperationFailure } from '../invalid-operation.ts';
import { OvertakenChange, retryOvertaken, writeFields } from '../overtaken-change.ts';
import type { ReadingSession, Session } from '../session.ts';

/** Values of a setting, for people and programs. */
export type Values = Record<string, string | number | boolean>;

/** A setting that is to be changed. */
export interface SettingChange extends Setting {
  /** Null if nothing is stored. */
  before: Values | null;
  /** Null if a plan is removed. */
  after: Values | null;
  /** All fields of the hash as it was read. */
  stored: Fields;
  /** Fields to write; an empty text removes one. */
  written: Fields;
}

/** A setting and what it is to be; an empty text removes a field. */
export type WantedSetting = Setting & { wanted: Fields };

/** Fields of settings by their Redis key. */
export type StoredSettings = ReadonlyMap<string, Fields>;

type SettingsSession = Pick<Session, 'redis' | 'audit'>;

/** Reads the hashes of settings. */
export async function readStored(
  redis: RedisClient,
  settings: readonly Pick<Setting, 'key'>[],
): Promise<StoredSettings> {
  const hashes = await Promise.all(settings.map(({ key }) => redis.hgetall(key)));
  return new Map(settings.map(({ key }, index) => [key, hashes[index] ?? {}]));
}

/** @returns undefined if the setting is missing or invalid */
export async function readSetting<Value extends object>(
  redis: RedisClient,
  { key, fields }: Pick<Setting<Value>, 'key' | 'fields'>,
): Promise<Value | undefined> {
  return fields.safeParse(await redis.hgetall(key)).data;
}

/** @returns the retention, or the default if none is set or it is invalid */
export async function readRetentionDays(redis: RedisClient): Promise<number> {
  return ((await readSetting(redis, usageSetting)) ?? usageSetting.defaults).retentionDays;
}

/**
 * Compares settings with what is stored. Pure.
 * @returns the settings that differ, in their order
 */
export function diffSettings(stored: StoredSettings, wanted: readonly WantedSetting[]): SettingChange[] {
  return wanted.flatMap(({ wanted: fields, ...setting }) => {
    const present = stored.get(setting.key) ?? {};
    const names = Object.keys(fields);
    const written = pick(fields, (name) => (present[name] ?? '') !== fields[name]);
    if (Object.keys(written).length === 0) return [];
    const before = pick(present, (name) => names.includes(name));
    const after = pick(fields, (name) => fields[name] !== '');
    return [{ ...setting, before: valuesOf(before), after: valuesOf(after), stored: present, written }];
  });
}

/** The removal of a plan. */
export function removalOf(setting: Setting, stored: Fields): SettingChange {
  const written = Object.fromEntries(Object.keys(stored).map((name) => [name, '']));
  return { ...setting, action: 'plans.remove', before: valuesOf(stored), after: null, stored, written };
}

function pick(fields: Fields, isPicked: (name: string) => boolean): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => isPicked(name)));
}

function valuesOf(fields: Fields): Values | null {
  const entries = Object.entries(fields).map(([name, text]) => [name, valueOf(text)] as const);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Text that was edited by hand into no number stays as it is. */
function valueOf(text: string): Values[string] {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && String(Number(text)) === text ? Number(text) : text;
}

/**
 * Changes settings as a whole: if two operators do so at once, the second one decides on the result of the first.
 * @param decide called with what is stored
 * @returns what was decided in the end
 * @throws what `writeSettings` throws, OvertakenChange if others keep changing them, and what `decide` throws
 */
export function changeSettings<Decided extends { changes: readonly SettingChange[] }>(
  session: SettingsSession,
  settings: readonly Pick<Setting, 'key'>[],
  decide: (stored: StoredSettings) => Decided,
): Promise<Decided> {
  return retryOvertaken('the setting', async () => {
    const decided = decide(await readStored(session.redis, settings));
    try {
      await writeSettings(session, decided.changes);
      return decided;
    } catch (error) {
      if (error instanceof OvertakenChange) return undefined;
      throw error;
    }
  });
}

/**
 * Makes and audits changes one after another: in Redis Cluster the hashes are on different nodes.
 * @throws OvertakenChange if others have changed the first one since it was read; OperationFailure that names what was written
 * before another one could not be
 */
export async function writeSettings(session: SettingsSession, changes: readonly SettingChange[]) {
  const { redis } = session;
  const made: string[] = [];
  try {
    for (const change of changes) {
      const { key, name, plan, after, stored, written } = change;
      // Before its limits: a plan that is not listed would be forgotten.
      if (plan !== undefined && after !== null) await redis.sadd(redisKeys.planNames, plan);
      if (!(await writeFields(session, key, stored, { fields: written, entry: entryOf(change) })))
        throw new OvertakenChange('somebody else has changed the settings since they were read; try again');
      if (plan !== undefined && after === null) await redis.srem(redisKeys.planNames, plan);
      made.push(name);
    }
  } catch (cause) {
    if (made.length === 0) throw cause;
    throw new OperationFailure(
      `not all settings were written, but ${made.join(', ')} only: ${errorMessage(cause)}; run the same command again to complete it`,
      { cause },
    );
  }
}

function entryOf({ action, target, plan, before, after }: SettingChange): Change {
  const named = (values: Values | null) =>
    values === null || plan === undefined ? values : { name: plan, ...values };
  return { action, target, before: named(before), after: named(after) };
}

/** @returns the page of the console on which a setting is changed; undefined for a Redis key that is no setting */
export function settingPage(key: string): { page: string; text: string } | undefined {
  if (wholeSettings.some((setting) => setting.key === key))
    return { page: '/console/bans', text: 'Security' };
  const [plan] = planOfKey(key);
  return plan === undefined
    ? undefined
    : { page: `/console/plans/${encodeURIComponent(plan)}`, text: `Plan ${plan}` };
}

/** A process that was seen longer ago may have ended. */
const aliveMs = 10_000;

export type EnforcedValues = Awaited<ReturnType<typeof readEnforcedValues>>;

/** Reads what running gateways enforce, which may differ from what is stored in Redis. */
export async function readEnforcedValues({ redis }: Pick<ReadingSession, 'redis'>) {
  const processes = await readEnforcedSettings(redis, aliveMs);
  return {
    /** Gateways that run, each with one process or several workers. */
    gateways: gatewaysOf(processes),
    /**
     * What gateways enforce, with their number, once for each different value; the one that most processes enforce first.
     * @param valueOf makes it of the fields by Redis key; undefined leaves the process out
     */
    counted<Value>(valueOf: (fieldsOf: (key: string) => Fields) => Value | undefined) {
      const enforcing = processes.flatMap(({ gateway, known, defaults }) => {
        const value = valueOf((key) => sorted({ ...defaults[key], ...known[key] }));
        return value === undefined ? [] : [{ gateway, value }];
      });
      return Array.from(Map.groupBy(enforcing, ({ value }) => JSON.stringify(value)).values())
        .toSorted((one, other) => other.length - one.length)
        .flatMap((same) => same.slice(0, 1).map(({ value }) => ({ value, gateways: gatewaysOf(same) })));
    },
  };
}

const gatewaysOf = (found: readonly { gateway: string }[]) =>
  new Set(found.map(({ gateway }) => gateway)).size;

/** Processes may publish the same fields in another order. */
const sorted = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => one.localeCompare(other)));
