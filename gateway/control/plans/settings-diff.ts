import { forPlanFields } from '../../limits/shadow-limits.ts';
import type { Fields, Setting } from '../../platform/redis/define-setting.ts';
import { textFields } from '../../platform/redis/enforced-settings.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { planSetting } from '../../quota/plan-settings.ts';
import { sectionsOf, type PlansFile } from './plans-file-schema.ts';

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

/** A setting and what a file wants it to be; an empty text removes a field. */
type WantedSetting = Setting & { wanted: Fields };

/** Settings of a file, in its order. */
export function settingsOf(file: PlansFile): WantedSetting[] {
  const plans = Object.entries(file.plans ?? {}).map(([plan, limits]): [Setting, object] => [
    planSetting(plan),
    // A plan has no other limits than those of the file.
    forPlanFields((field) => limits[field] ?? ''),
  ]);
  return [...plans, ...sectionsOf(file)].flatMap(([setting, values]) =>
    values === undefined ? [] : [{ ...setting, wanted: textFields(values) }],
  );
}

/** Reads the hashes of settings. */
export async function readStored(
  redis: RedisClient,
  settings: readonly Setting[],
): Promise<Map<string, Fields>> {
  const hashes = await Promise.all(settings.map(({ key }) => redis.hgetall(key)));
  return new Map(settings.map(({ key }, index) => [key, hashes[index] ?? {}]));
}

/**
 * Compares settings with what is stored. Pure.
 * @param stored fields by Redis key
 * @returns the settings that differ, in their order
 */
export function diffSettings(
  stored: ReadonlyMap<string, Fields>,
  wanted: readonly WantedSetting[],
): SettingChange[] {
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
  const entries = Object.entries(fields).map(([name, text]): [string, Values[string]] => [
    name,
    valueOf(text),
  ]);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Text that was edited by hand into no number stays as it is. */
function valueOf(text: string): Values[string] {
  if (text === 'true' || text === 'false') return text === 'true';
  return text !== '' && String(Number(text)) === text ? Number(text) : text;
}
