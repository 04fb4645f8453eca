import type { Fields } from '../../platform/redis/define-setting.ts';
import { readEnforcedSettings } from '../../platform/redis/enforced-settings.ts';
import { readProcessStatuses } from '../../platform/redis/process-statuses.ts';
import type { ReadingSession } from '../session.ts';

/** An instance that was seen longer ago may have ended. More than the skew of a clock. */
const aliveMs = 10_000;

/** What running gateways enforce, which may differ from what is stored in Redis. */
export interface EnforcedValues {
  /** Gateways that run, each with one process or several workers. */
  gateways: number;
  /** The fields of a setting, once for each different value; the one that most processes enforce first. */
  of(key: string): Fields[];
  /**
   * What gateways enforce, with their number: the same for a value of several settings.
   * @param valueOf makes it of the fields by Redis key; undefined leaves the process out
   */
  counted<Value>(
    valueOf: (fieldsOf: (key: string) => Fields) => Value | undefined,
  ): { value: Value; gateways: number }[];
}

export async function readEnforcedValues({ redis, now }: ReadingSession): Promise<EnforcedValues> {
  const [instances, statuses] = await Promise.all([
    readEnforcedSettings(redis, now() - aliveMs),
    // A process without a status counts as a gateway of its own.
    readProcessStatuses(redis).catch(() => []),
  ]);
  const gatewayOf = new Map(statuses.map(({ id, gateway }) => [id, gateway.id]));
  const gatewaysOf = (ids: readonly string[]) => new Set(ids.map((id) => gatewayOf.get(id) ?? id)).size;

  const counted: EnforcedValues['counted'] = (valueOf) => {
    const enforcing = instances.flatMap(({ id, known, defaults }) => {
      const value = valueOf((key) => sorted({ ...defaults[key], ...known[key] }));
      return value === undefined ? [] : [{ id, value }];
    });
    const byValue = Map.groupBy(enforcing, ({ value }) => JSON.stringify(value));
    return Array.from(byValue.values())
      .toSorted((one, other) => other.length - one.length)
      .flatMap(([first, ...others]) =>
        first === undefined
          ? []
          : [{ value: first.value, gateways: gatewaysOf([first, ...others].map(({ id }) => id)) }],
      );
  };

  return {
    gateways: gatewaysOf(instances.map(({ id }) => id)),
    of: (key) =>
      counted((fieldsOf) => {
        const fields = fieldsOf(key);
        return Object.keys(fields).length === 0 ? undefined : fields;
      }).map(({ value }) => value),
    counted,
  };
}

/** Processes may publish the same fields in another order. */
const sorted = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => one.localeCompare(other)));
