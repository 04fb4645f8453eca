import { z } from 'zod';
import type { RedisClient } from './redis-client.ts';
import { redisKeys } from './redis-keys.ts';
import { parseJson } from './redis-values.ts';

/** Fields of settings as text, by the name of their Redis key. */
const settings = z.record(z.string(), z.record(z.string(), z.string()));
const enforcedSettings = z.object({
  /** Last valid values, read from Redis or taken over from another process. */
  known: settings,
  /** Built-in defaults, in force because no other value was found. */
  defaults: settings,
});
const published = z.object({
  at: z.number(),
  gateway: z.object({ id: z.string() }),
  enforced: enforcedSettings,
});

/** The settings that one process enforces. */
export type EnforcedSettings = z.infer<typeof enforcedSettings>;

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

export function mergeEnforced(settings: readonly EnforcedSettings[]): EnforcedSettings {
  return {
    known: Object.assign({}, ...settings.map(({ known }) => known)),
    defaults: Object.assign({}, ...settings.map(({ defaults }) => defaults)),
  };
}

/** Formats values as a hash in Redis has them. */
export function textFields(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [field, String(value)]));
}
