import type { InvalidValues, ValueSource } from '../observability/invalid-values.ts';
import type { Fields, Reading, Setting } from './define-setting.ts';
import { textFields, type EnforcedSettings, type ProcessSettings } from './enforced-settings.ts';
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
  /** Whether its values were never complete, in Redis or at another gateway. */
  lacksValues(): boolean;
  /** The values in force by its Redis key. */
  enforced(): EnforcedSettings;
}

export interface LiveSettingDependencies {
  hashes: HashReader;
  invalidValues: InvalidValues;
  /** What other gateways enforce. Never rejects. */
  readOthers: () => Promise<readonly ProcessSettings[]>;
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
  const { key, defaults } = setting;
  const hasDefault = Object.keys(defaults).length > 0;
  /** Last valid values, from Redis or from another gateway. */
  let known: Partial<Value> = {};
  let current: Value = defaults;
  let wasRead = false;
  let isComplete = false;
  onChange?.(current);

  function use({ found, required }: Reading<Value>): void {
    const next = withoutUndefined({ ...known, ...found });
    isComplete ||= required.length > 0 && required.every((field) => Object.hasOwn(next, field));
    // Without a default for the rest, some limits of a plan would be in force without the others.
    if (!isComplete && !hasDefault) return;
    known = next;
    current = { ...defaults, ...known };
    onChange?.(current);
  }

  function report(issues: string[]): void {
    if (!isInUse()) return invalidValues.forget(key);
    const source: ValueSource = isComplete ? 'last_valid' : hasDefault ? 'default' : 'none';
    invalidValues.report(key, issues, { enforced: current, source });
  }

  async function takeOver(): Promise<void> {
    for (const { known: others } of await readOthers()) {
      if (isComplete) return;
      const reading = setting.read(others[key] ?? {});
      use({ ...reading, found: { ...reading.found, ...known } });
    }
  }

  async function refresh(): Promise<void> {
    if (!isComplete) await takeOver();
    let fields: Fields;
    try {
      fields = await hashes.read(key);
    } catch (error) {
      if (error instanceof UnexpectedValue) report(['is not a hash']);
      return;
    }
    const reading = setting.read(fields);
    use(reading);
    wasRead = true;
    report(reading.issues);
  }

  return {
    current: () => current,
    refresh,
    async ensureRead() {
      if (!wasRead) await refresh();
    },
    lacksValues: () => !isComplete,
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
