import { readEnforcedSettings } from '../../platform/redis/enforced-settings.ts';
import type { Fields } from '../../platform/redis/settings.ts';
import type { ReadingSession } from '../session.ts';

/** A process that was seen longer ago may have ended. */
const aliveMs = 10_000;

export type EnforcedValues = Awaited<ReturnType<typeof readEnforcedValues>>;

/** Reads what running gateways enforce, which may differ from what is stored in Redis. */
export async function readEnforcedValues({ redis }: Pick<ReadingSession, 'redis'>) {
  const processes = await readEnforcedSettings(redis, aliveMs);
  return {
    /** Gateways that run, each with one process or several workers. */
    gateways: gatewaysOf(processes),
    /**
     * What gateways enforce, with their number, once for each different value; the one that most processes enforce first.
     * @param valueOf makes it of the fields by Redis key; undefined leaves the process out
     */
    counted<Value>(valueOf: (fieldsOf: (key: string) => Fields) => Value | undefined) {
      const enforcing = processes.flatMap(({ gateway, known, defaults }) => {
        const value = valueOf((key) => sorted({ ...defaults[key], ...known[key] }));
        return value === undefined ? [] : [{ gateway, value }];
      });
      return Array.from(Map.groupBy(enforcing, ({ value }) => JSON.stringify(value)).values())
        .toSorted((one, other) => other.length - one.length)
        .flatMap((same) => same.slice(0, 1).map(({ value }) => ({ value, gateways: gatewaysOf(same) })));
    },
  };
}

const gatewaysOf = (found: readonly { gateway: string }[]) =>
  new Set(found.map(({ gateway }) => gateway)).size;

/** Processes may publish the same fields in another order. */
const sorted = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).toSorted(([one], [other]) => one.localeCompare(other)));
