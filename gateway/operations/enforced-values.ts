import { readEnforcedSettings } from '../redis/enforced-settings.ts';
import type { Session } from './session.ts';

/** An instance that was seen longer ago may have ended. More than the skew of a clock. */
const aliveMs = 10_000;

/** What running gateways enforce, which may differ from what is stored in Redis. */
export interface EnforcedValues {
  /** Redis keys of all settings. */
  keys: string[];
  /** Gateway processes that serve requests: one, or the workers of a gateway. */
  gateways: number;
  /** The fields of a setting, once for each different value. */
  of(key: string): Record<string, string>[];
  /** The same, with the number of gateway processes that enforce it; the most frequent one first. */
  counted(key: string): { fields: Record<string, string>; gateways: number }[];
}

export async function readEnforcedValues({
  redis,
  now,
}: Pick<Session, 'redis' | 'now'>): Promise<EnforcedValues> {
  const instances = await readEnforcedSettings(redis, now() - aliveMs);

  function counted(key: string): ReturnType<EnforcedValues['counted']> {
    const distinct = new Map<string, { fields: Record<string, string>; gateways: number }>();
    for (const { known, defaults } of instances) {
      const fields = { ...defaults[key], ...known[key] };
      const names = Object.keys(fields).toSorted();
      if (names.length === 0) continue;
      const text = JSON.stringify(fields, names);
      distinct.set(text, { fields, gateways: (distinct.get(text)?.gateways ?? 0) + 1 });
    }
    return Array.from(distinct.values()).toSorted((one, other) => other.gateways - one.gateways);
  }

  return {
    keys: [...new Set(instances.flatMap(({ known, defaults }) => Object.keys({ ...known, ...defaults })))],
    gateways: instances.length,
    of: (key) => counted(key).map(({ fields }) => fields),
    counted,
  };
}
