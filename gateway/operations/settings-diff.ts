import type { Fields, FileSetting, WantedSetting } from './file-settings.ts';

/** Values of a setting, for people and programs. */
export type Values = Record<string, string | number | boolean>;

/** A setting that is to be changed. */
export interface SettingChange extends FileSetting {
  /** Null if nothing is stored. */
  before: Values | null;
  /** Null if a plan is removed. */
  after: Values | null;
  /** All fields of the hash as it was read. */
  stored: Fields;
  /** Fields to write; an empty text removes one. */
  written: Fields;
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
export function removalOf(setting: FileSetting, stored: Fields): SettingChange {
  const written = Object.fromEntries(Object.keys(stored).map((name) => [name, '']));
  return {
    ...setting,
    action: 'plans.remove',
    before: valuesOf(stored),
    after: null,
    stored,
    written,
  };
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
