import { errorMessage } from '#runtime/error-message.ts';
import { Cluster } from 'ioredis';
import type { Fields, Setting } from '../../platform/redis/define-setting.ts';
import type { Change } from '../../platform/redis/record-change.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { planOfKey } from '../../quota/plan-settings.ts';
import { usageSetting } from '../../quota/usage-policy.ts';
import { wholeSettings } from '../../quota/whole-settings.ts';
import { OperationFailure } from '../invalid-operation.ts';
import { OvertakenChange } from '../overtaken-change.ts';
import type { Session } from '../session.ts';

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

const maxAttempts = 5;

/**
 * Changes settings as a whole: if two operators do so at once, the second one decides on the result of the first.
 * @param decide called with what is stored
 * @returns what was decided in the end
 * @throws what `writeSettings` throws if others keep changing them, and what `decide` throws
 */
export async function changeSettings<Decided extends { changes: readonly SettingChange[] }>(
  session: SettingsSession,
  settings: readonly Pick<Setting, 'key'>[],
  decide: (stored: StoredSettings) => Decided,
): Promise<Decided> {
  for (let attempt = 1; ; attempt += 1) {
    const decided = decide(await readStored(session.redis, settings));
    try {
      await writeSettings(session, decided.changes);
      return decided;
    } catch (error) {
      if (!(error instanceof OvertakenChange) || attempt === maxAttempts) throw error;
    }
  }
}

/**
 * Makes and audits all changes, or none if one of the hashes was changed since it was read. On one Redis, also behind Sentinels, that
 * is one atomic script. In Redis Cluster the hashes are in different slots, so they are written one after another.
 * @throws OvertakenChange if a hash was changed by others, OperationFailure if not all could be written
 */
export async function writeSettings(
  { redis, audit }: SettingsSession,
  changes: readonly SettingChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const names = (removed: boolean) =>
    changes.flatMap(({ plan, after }) => (plan === undefined || (after === null) !== removed ? [] : [plan]));
  const [added, removed] = [names(false), names(true)];
  if (redis instanceof Cluster) return writeOneByOne({ redis, audit }, changes, { added, removed });
  const lists = [added, removed, ...changes.flatMap(({ stored, written }) => [flat(stored), flat(written)])];
  const isWritten = await audit.make(changes.map(entryOf), {
    script: 'writeSettingsAudited',
    keys: [redisKeys.planNames, ...changes.map(({ key }) => key)],
    args: lists.flatMap((list) => [String(list.length)].concat(list)),
  });
  if (isWritten !== 1) throw changedByOthers();
}

function entryOf({ action, target, plan, before, after }: SettingChange): Change {
  const named = (values: Values | null) =>
    values === null || plan === undefined ? values : { name: plan, ...values };
  return { action, target, before: named(before), after: named(after) };
}

/** @throws OperationFailure that names what was written before another one could not be */
async function writeOneByOne(
  { redis, audit }: { redis: Cluster; audit: Session['audit'] },
  changes: readonly SettingChange[],
  { added, removed }: { added: string[]; removed: string[] },
): Promise<void> {
  const made: string[] = [];
  try {
    if (added.length > 0) await redis.sadd(redisKeys.planNames, ...added);
    for (const change of changes) {
      const { key, name, stored, written } = change;
      const args = [Object.keys(stored).length, ...flat(stored), ...flat(written)];
      const result = await audit.make([entryOf(change)], { script: 'setFieldsAudited', keys: [key], args });
      if (result !== 1) throw changedByOthers(made);
      made.push(name);
    }
    if (removed.length > 0) await redis.srem(redisKeys.planNames, ...removed);
  } catch (cause) {
    if (made.length === 0) throw cause;
    throw new OperationFailure(
      `not all settings were written, but ${made.join(', ')} only: ${errorMessage(cause)}; run the same command again to complete it`,
      { cause },
    );
  }
}

function flat(fields: Record<string, string>): string[] {
  return Object.entries(fields).flat();
}

function changedByOthers(made: readonly string[] = []): OvertakenChange {
  const advice = made.length === 0 ? '; nothing was changed; try again' : '';
  return new OvertakenChange(`somebody else has changed the settings since they were read${advice}`);
}

/** @returns the page of the console on which a setting is changed; undefined for a Redis key that is no setting */
export function settingPage(key: string): { page: string; text: string } | undefined {
  if (key === usageSetting.key) return { page: '/console/settings', text: 'System' };
  if (wholeSettings.some((setting) => setting.key === key))
    return { page: '/console/bans', text: 'Security' };
  const [plan] = planOfKey(key);
  return plan === undefined
    ? undefined
    : { page: `/console/plans/${encodeURIComponent(plan)}`, text: `Plan ${plan}` };
}
