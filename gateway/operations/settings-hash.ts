import type { RedisClient } from '../redis/redis-client.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { StoreRefusal } from './invalid-operation.ts';

const maxAttempts = 5;

/**
 * Changes a hash of settings as a whole: of two operators at the same time, the second one decides on what the first
 * has left.
 *
 * @param decide the fields to set, given those that are there; tells the audit log of them
 * @throws StoreRefusal where it is no hash, and what `decide` throws
 */
export async function changeSettings(
  redis: RedisClient,
  key: string,
  decide: (fields: Record<string, string>) => Promise<Record<string, string>>,
): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const before = await readSettings(redis, key);
    const change = await decide(before);
    const expected = Object.entries(before);
    const set = await redis.setFields(
      key,
      expected.length,
      ...expected.flat(),
      ...Object.entries(change).flat(),
    );
    if (set === 1) return;
  }
  throw new Error(`${key} is being changed by others all the time`);
}

/** @throws StoreRefusal where it is no hash */
export async function readSettings(redis: RedisClient, key: string): Promise<Record<string, string>> {
  try {
    return await redis.hgetall(key);
  } catch (error) {
    if (!isWrongType(error)) throw error;
    throw new StoreRefusal(`${key} was edited into something that is no hash: DEL it first`);
  }
}

/**
 * Writes defaults where there is no such hash yet. One with a missing field was edited by hand: filling that in would
 * put a number into force that nobody has asked for.
 */
export async function seedSettings(
  redis: RedisClient,
  key: string,
  defaults: Record<string, unknown>,
): Promise<void> {
  if ((await redis.exists(key)) === 1) return;
  // Field by field, lest two that seed at the same time overwrite what an operator sets in between.
  await Promise.all(
    Object.entries(defaults).map(([field, value]) => redis.hsetnx(key, field, String(value))),
  );
}
