import { describeIssues } from '../config/describe-issues.ts';
import type { InvalidValues } from '../observability/invalid-values.ts';
import type { Setting } from './define-setting.ts';
import { readEnforcedSettings, textFields, type SettingsByKey } from './enforced-settings.ts';
import type { HashReader } from './hash-reader.ts';
import type { RedisClient } from './redis-client.ts';
import { isWrongType } from './redis-errors.ts';

/** A hash of settings in Redis as this process enforces it. */
export interface LiveSetting<Value> {
  current(): Value;
  /**
   * Reads the setting again. Never rejects: an unreadable or invalid value leaves the last valid one, or that of another
   * gateway.
   */
  refresh(): Promise<void>;
  /** The value in force by its Redis key: the last valid one, or the default if there was none yet. */
  enforced(): { known: SettingsByKey; defaults: SettingsByKey };
}

interface LiveSettingOptions<Value extends object> {
  redis: RedisClient;
  hashes: HashReader;
  invalidValues: InvalidValues;
  setting: Setting<Value>;
}

export function createLiveSetting<Value extends object>(
  options: LiveSettingOptions<Value>,
): LiveSetting<Value> {
  const { redis, hashes, invalidValues, setting } = options;
  const { key, fields: schema, defaults } = setting;
  let current: Value = defaults;
  /** Whether the value comes from Redis or another gateway. */
  let known = false;

  function use(value: Value): void {
    current = value;
    known = true;
  }

  /** Takes over what another gateway enforces. Never rejects. */
  async function takeOver(): Promise<void> {
    const others = await readEnforcedSettings(redis).catch(() => []);
    for (const settings of others) {
      const parsed = schema.safeParse(settings.known[key]);
      if (parsed.success) return use(parsed.data);
    }
  }

  function report(issues: string[]): void {
    invalidValues.report(key, issues, { enforced: current, source: known ? 'last_valid' : 'default' });
  }

  return {
    current: () => current,
    async refresh() {
      if (!known) await takeOver();
      let fields: Record<string, string>;
      try {
        fields = await hashes.read(key);
      } catch (error) {
        if (isWrongType(error)) report(['is not a hash']);
        return;
      }
      const parsed = schema.safeParse(fields);
      if (parsed.success) use(parsed.data);
      report(parsed.success ? [] : describeIssues(parsed.error));
    },
    enforced() {
      const settings = { [key]: textFields(current) };
      return known ? { known: settings, defaults: {} } : { known: {}, defaults: settings };
    },
  };
}
