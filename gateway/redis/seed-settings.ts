import type { RedisClient } from './redis-client.ts';

/**
 * Writes defaults if there is no such hash yet. A hash with a missing field was edited by hand: filling the field in
 * would put a number into force that nobody has asked for.
 */
export async function seedSettings(
  redis: RedisClient,
  key: string,
  defaults: Record<string, unknown>,
): Promise<void> {
  if ((await redis.exists(key)) === 1) return;
  // Field by field, so that two instances that seed at once do not overwrite an operator's value in between.
  await Promise.all(
    Object.entries(defaults).map(([field, value]) => redis.hsetnx(key, field, String(value))),
  );
}
