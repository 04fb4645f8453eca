import { z } from 'zod';
import { parseJson } from './parse-json.ts';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';

/** Fields of settings by the name of their Redis key, as text. */
export type SettingsByKey = Record<string, Record<string, string>>;

/** The settings that one instance enforces. */
export interface EnforcedSettings {
  /** Last valid values, read from Redis or taken over from another instance. */
  known: SettingsByKey;
  /** Built-in defaults, in force because no other value was found. */
  defaults: SettingsByKey;
}

const settings = z.record(z.string(), z.record(z.string(), z.string()));
const enforcedSettings = z.object({ known: settings, defaults: settings });

/** The same with the name of the instance. */
export type InstanceSettings = EnforcedSettings & { id: string };

/**
 * Reads what instances publish, the one seen last first. A record that is not readable is left out.
 * @param sinceMs leaves out instances that were seen before this time
 */
export async function readEnforcedSettings(redis: RedisClient, sinceMs = 0): Promise<InstanceSettings[]> {
  const ids = (await redis.zrangebyscore(redisKeys.instances, sinceMs, '+inf')).toReversed();
  // One by one: in Redis Cluster they are in different slots.
  const records = await Promise.all(ids.map((id) => redis.get(redisKeys.instance(id))));
  return ids.flatMap((id, index) => {
    const parsed = enforcedSettings.safeParse(parseJson(records[index] ?? '')).data;
    return parsed === undefined ? [] : [{ id, ...parsed }];
  });
}

/** Reads what instances enforce, once for all that ask in the meantime. Never rejects. */
export function createOthersReader(redis: RedisClient): () => Promise<readonly InstanceSettings[]> {
  let reading: Promise<readonly InstanceSettings[]> | undefined;
  return () =>
    (reading ??= readEnforcedSettings(redis)
      .catch(() => [])
      .finally(() => (reading = undefined)));
}

export function mergeEnforced(settings: readonly EnforcedSettings[]): EnforcedSettings {
  return {
    known: Object.assign({}, ...settings.map(({ known }) => known)),
    defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
  };
}

/**
 * Finds settings that no running gateway enforces: none runs, or all are of a release that does not know them. A gateway that
 * has not published its settings may enforce any.
 * @returns those of the keys
 */
export async function findUnenforced(redis: RedisClient, keys: readonly string[]): Promise<string[]> {
  const running = await redis.zcard(redisKeys.instances);
  const published = await readEnforcedSettings(redis);
  if (published.length < running) return [];
  return keys.filter((key) => !published.some(({ known, defaults }) => key in known || key in defaults));
}

/** Formats values as a hash in Redis has them. */
export function textFields(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]));
}
