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
 * Reads what running processes enforce, the one seen last first; undefined for one whose status is not readable, since
 * another release may write it in another form.
 * @param withinMs leaves out processes that were not seen for longer, by Redis' clock
 */
async function readAll(redis: RedisClient, withinMs: number): Promise<(ProcessSettings | undefined)[]> {
  const [[seconds = 0], statuses] = await Promise.all([
    redis.time(),
    redis.hgetall(redisKeys.processStatuses),
  ]);
  return Object.values(statuses)
    .map((text) => {
      const json = parseJson(text);
      return { at: published.pick({ at: true }).safeParse(json).data?.at ?? 0, json };
    })
    .filter(({ at }) => Math.abs(seconds * 1000 - at) <= withinMs)
    .toSorted((one, other) => other.at - one.at)
    .map(({ json }) => {
      const { data } = published.safeParse(json);
      return data && Object.assign(data.enforced, { gateway: data.gateway.id });
    });
}

/** Reads what running processes enforce, the one seen last first. A status that is not readable is left out. */
export async function readEnforcedSettings(
  redis: RedisClient,
  withinMs = runningMs,
): Promise<ProcessSettings[]> {
  return (await readAll(redis, withinMs)).filter((settings) => settings !== undefined);
}

/** Whether any gateway runs on this Redis. */
export async function isInUse(redis: RedisClient): Promise<boolean> {
  return (await readAll(redis, runningMs)).length > 0;
}

export function mergeEnforced(settings: readonly EnforcedSettings[]): EnforcedSettings {
  return {
    known: Object.assign({}, ...settings.map(({ known }) => known)),
    defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
  };
}

/**
 * Finds settings that no running gateway enforces: none runs, or all are of a release that does not know them. A gateway
 * whose status is not readable may enforce any.
 * @returns those of the keys
 */
export async function findUnenforced(redis: RedisClient, keys: readonly string[]): Promise<string[]> {
  const running = await readAll(redis, runningMs);
  return keys.filter((key) =>
    running.every(
      (settings) => settings !== undefined && !(key in settings.known) && !(key in settings.defaults),
    ),
  );
}

/** Formats values as a hash in Redis has them. */
export function textFields(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]));
}
