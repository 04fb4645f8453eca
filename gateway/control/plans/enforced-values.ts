import { readEnforcedSettings } from '../../platform/redis/enforced-settings.ts';
import type { Fields } from '../../platform/redis/settings.ts';
import type { ReadingSession } from '../session.ts';

/** A process that was seen longer ago may have ended. */
const aliveMs = 10_000;

/** What running gateways enforce, which may differ from what is stored in Redis. */
export interface EnforcedValues {
  /** Gateways that run, each with one process or several workers. */
  gateways: number;
  /**
   * What gateways enforce, with their number, once for each different value; the one that most processes enforce first.
   * @param valueOf makes it of the fields by Redis key; undefined leaves the process out
   */
  counted<Value>(
    valueOf: (fieldsOf: (key: string) => Fields) => Value | undefined,
  ): { value: Value; gateways: number }[];
}

export async function readEnforcedValues({ redis }: Pick<ReadingSession, 'redis'>): Promise<EnforcedValues> {
  const processes = await readEnforcedSettings(redis, aliveMs);

  const counted: EnforcedValues['counted'] = (valueOf) => {
    const enforcing = processes.flatMap(({ gateway, known, defaults }) => {
      const value = valueOf((key) => sorted({ ...defaults[key], ...known[key] }));
      return value === undefined ? [] : [{ gateway, value }];
    });
    const byValue = Map.groupBy(enforcing, ({ value }) => JSON.stringify(value));
    return Array.from(byValue.values())
      .toSorted((one, other) => other.length - one.length)
      .flatMap(([first, ...others]) =>
        first === undefined ? [] : [{ value: first.value, gateways: gatewaysOf([first, ...others]) }],
      );
  };

  return { gateways: gatewaysOf(processes), counted };
}

const gatewaysOf = (found: readonly { gateway: string }[]) =>
  new Set(found.map(({ gateway }) => gateway)).size;

/** Processes may publish the same fields in another order. */
const sorted = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => one.localeCompare(other)));
