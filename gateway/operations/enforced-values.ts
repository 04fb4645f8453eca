import { readEnforcedSettings } from '../redis/enforced-settings.ts';
import type { Session } from './session.ts';

/** An instance that was seen longer ago may have ended. More than the skew of a clock. */
const aliveMs = 10_000;

/** What running gateways enforce, which may differ from what is stored in Redis. */
export interface EnforcedValues {
  /** Redis keys of all settings. */
  keys: string[];
  /** The fields of a setting, once for each different value. */
  of(key: string): Record<string, string>[];
}

export async function readEnforcedValues({
  redis,
  now,
}: Pick<Session, 'redis' | 'now'>): Promise<EnforcedValues> {
  const instances = await readEnforcedSettings(redis, now() - aliveMs);
  return {
    keys: [...new Set(instances.flatMap(({ known, defaults }) => Object.keys({ ...known, ...defaults })))],
    of(key) {
      const distinct = new Map<string, Record<string, string>>();
      for (const { known, defaults } of instances) {
        const fields = { ...defaults[key], ...known[key] };
        const names = Object.keys(fields).toSorted();
        if (names.length > 0) distinct.set(JSON.stringify(fields, names), fields);
      }
      return [...distinct.values()];
    },
  };
}
