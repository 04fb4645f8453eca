import type { InvalidValues, ValueSource } from '../observability/invalid-values.ts';
import type { Fields, Setting } from './define-setting.ts';
import { textFields, type EnforcedSettings, type InstanceSettings } from './enforced-settings.ts';
import type { HashReader } from './hash-reader.ts';
import { UnexpectedValue } from './redis-errors.ts';

/** A hash of settings in Redis as this process enforces it. */
export interface LiveSetting<Value> {
  /** The last valid values, and defaults in place of unknown ones. */
  current(): Value;
  /**
   * Reads the setting again. Never rejects: an unreadable or invalid value leaves the last valid one, or that of another
   * gateway.
   */
  refresh(): Promise<void>;
  /** Reads the setting unless it was read before. */
  ensureRead(): Promise<void>;
  /** Whether a required value is not known, from Redis or from another gateway. */
  lacksValues(): boolean;
  /** The values in force by its Redis key. */
  enforced(): EnforcedSettings;
}

export interface LiveSettingDependencies {
  hashes: HashReader;
  invalidValues: InvalidValues;
  /** What other gateways enforce. Never rejects. */
  readOthers: () => Promise<readonly InstanceSettings[]>;
}

interface LiveSettingOptions<Value extends object> extends LiveSettingDependencies {
  setting: Setting<Value>;
  /** Called with the value in force at the start and at each change. */
  onChange?: ((value: Value) => void) | undefined;
  /** Whether what is wrong is reported. Always by default. */
  isInUse?: () => boolean;
}

export function createLiveSetting<Value extends object>(
  options: LiveSettingOptions<Value>,
): LiveSetting<Value> {
  const { hashes, invalidValues, readOthers, setting, onChange, isInUse = () => true } = options;
  const { key, defaults, required } = setting;
  /** Last valid values, from Redis or from another gateway. */
  let known: Partial<Value> = {};
  let current: Value = defaults;
  let wasRead = false;
  onChange?.(current);

  function use(found: Partial<Value>): void {
    known = withoutUndefined({ ...known, ...found });
    current = { ...defaults, ...known };
    onChange?.(current);
  }

  const lacksValues = () => required.some((field) => !Object.hasOwn(known, field));

  function report(issues: string[]): void {
    if (!isInUse()) return invalidValues.forget(key);
    const hasDefault = required.every((field) => Object.hasOwn(defaults, field));
    const source: ValueSource = !lacksValues() ? 'last_valid' : hasDefault ? 'default' : 'none';
    invalidValues.report(key, issues, { enforced: current, source });
  }

  async function takeOver(): Promise<void> {
    for (const { known: others } of await readOthers()) {
      if (lacksValues()) use({ ...setting.read(others[key] ?? {}).found, ...known });
    }
  }

  async function refresh(): Promise<void> {
    if (lacksValues()) await takeOver();
    let fields: Fields;
    try {
      fields = await hashes.read(key);
    } catch (error) {
      if (error instanceof UnexpectedValue) report(['is not a hash']);
      return;
    }
    const { found, issues } = setting.read(fields);
    use(found);
    wasRead = true;
    report(issues);
  }

  return {
    current: () => current,
    refresh,
    async ensureRead() {
      if (!wasRead) await refresh();
    },
    lacksValues,
    enforced() {
      const own = textFields(known);
      const rest = Object.entries(textFields(current)).filter(([field]) => !Object.hasOwn(own, field));
      return {
        known: Object.keys(own).length === 0 ? {} : { [key]: own },
        defaults: rest.length === 0 ? {} : { [key]: Object.fromEntries(rest) },
      };
    },
  };
}

function withoutUndefined<T extends object>(value: T): T {
  const rest = { ...value };
  for (const [field, found] of Object.entries(rest))
    if (found === undefined) Reflect.deleteProperty(rest, field);
  return rest;
}
