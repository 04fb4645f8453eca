import { z } from 'zod';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';
import { parseJson } from './redis-values.ts';

/** Fields of settings by the name of their Redis key, as text. */
type SettingsByKey = Record<string, Record<string, string>>;

/** The settings that one process enforces. */
export interface EnforcedSettings {
  /** Last valid values, read from Redis or taken over from another process. */
  known: SettingsByKey;
  /** Built-in defaults, in force because no other value was found. */
  defaults: SettingsByKey;
}

const settings = z.record(z.string(), z.record(z.string(), z.string()));
const published = z.object({
  at: z.number(),
  gateway: z.object({ id: z.string() }),
  enforced: z.object({ known: settings, defaults: settings }),
});

/** The same with the gateway of the process. */
export type ProcessSettings = EnforcedSettings & { gateway: string };

/** A process that was seen longer ago has ended without saying so. */
const runningMs = 60_000;

/**
 * Reads what running processes enforce, the one seen last first.
 * @param withinMs leaves out processes that were not seen for longer, by Redis' clock
 */
export async function readEnforcedSettings(
  redis: RedisClient,
  withinMs = runningMs,
): Promise<ProcessSettings[]> {
  const [[seconds = 0], statuses] = await Promise.all([
    redis.time(),
    redis.hgetall(redisKeys.processStatuses),
  ]);
  return Object.values(statuses)
    .flatMap((text) => published.safeParse(parseJson(text)).data ?? [])
    .filter(({ at }) => Math.abs(seconds * 1000 - at) <= withinMs)
    .toSorted((one, other) => other.at - one.at)
    .map(({ gateway, enforced }) => Object.assign(enforced, { gateway: gateway.id }));
}

/** Whether any gateway runs on this Redis. */
export async function isInUse(redis: RedisClient): Promise<boolean> {
  return (await readEnforcedSettings(redis)).length > 0;
}

export function mergeEnforced(settings: readonly EnforcedSettings[]): EnforcedSettings {
  return {
    known: Object.assign({}, ...settings.map(({ known }) => known)),
    defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
  };
}

/** Finds those of the keys that no running gateway enforces. */
export async function findUnenforced(redis: RedisClient, keys: readonly string[]): Promise<string[]> {
  const running = await readEnforcedSettings(redis);
  return keys.filter((key) => running.every(({ known, defaults }) => !(key in known) && !(key in defaults)));
}

/** Formats values as a hash in Redis has them. */
export function textFields(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]));
}
