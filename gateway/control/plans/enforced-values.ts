import { readEnforcedSettings } from '../../platform/redis/enforced-settings.ts';
import { readProcessStatuses } from '../../platform/redis/process-statuses.ts';
import type { ReadingSession } from '../session.ts';

/** An instance that was seen longer ago may have ended. More than the skew of a clock. */
const aliveMs = 10_000;

/** What running gateways enforce, which may differ from what is stored in Redis. */
export interface EnforcedValues {
  /** Redis keys of all settings. */
  keys: string[];
  /** Gateways that run, each with one process or several workers. */
  gateways: number;
  /** The fields of a setting, once for each different value. */
  of(key: string): Record<string, string>[];
  /** The same, with the numbers of gateways and of their processes that enforce it; the most frequent one first. */
  counted(key: string): { fields: Record<string, string>; gateways: number; processes: number }[];
}

export async function readEnforcedValues({ redis, now }: ReadingSession): Promise<EnforcedValues> {
  const [instances, statuses] = await Promise.all([
    readEnforcedSettings(redis, now() - aliveMs),
    // A process without a status counts as a gateway of its own.
    readProcessStatuses(redis).catch(() => []),
  ]);
  const gatewayOf = new Map(statuses.map(({ id, gateway }) => [id, gateway.id]));
  const gatewaysOf = (ids: readonly string[]) => new Set(ids.map((id) => gatewayOf.get(id) ?? id)).size;

  function counted(key: string): ReturnType<EnforcedValues['counted']> {
    const distinct = new Map<string, { fields: Record<string, string>; ids: string[] }>();
    for (const { id, known, defaults } of instances) {
      const fields = { ...defaults[key], ...known[key] };
      const names = Object.keys(fields).toSorted();
      if (names.length === 0) continue;
      const text = JSON.stringify(fields, names);
      distinct.set(text, { fields, ids: [...(distinct.get(text)?.ids ?? []), id] });
    }
    return Array.from(distinct.values(), ({ fields, ids }) => ({
      fields,
      gateways: gatewaysOf(ids),
      processes: ids.length,
    })).toSorted((one, other) => other.processes - one.processes);
  }

  return {
    keys: [...new Set(instances.flatMap(({ known, defaults }) => Object.keys({ ...known, ...defaults })))],
    gateways: gatewaysOf(instances.map(({ id }) => id)),
    of: (key) => counted(key).map(({ fields }) => fields),
    counted,
  };
}
