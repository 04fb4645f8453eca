import type { RedisClient } from './redis-client.ts';
import { nameWrongType } from './redis-errors.ts';

/**
 * Reads a hash that operators may have edited. ioredis sends the commands of one turn of the event loop together, in order.
 * @throws UnexpectedValue if the key holds something else
 */
export async function readHash(
  redis: Pick<RedisClient, 'hgetall'>,
  key: string,
): Promise<Record<string, string>> {
  try {
    return await redis.hgetall(key);
  } catch (error) {
    throw nameWrongType(error);
  }
}

/** @returns undefined for text that is no JSON: a value that was edited by hand may be any text */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Members and scores of a reply WITHSCORES. */
export function scoredMembers(flat: readonly string[]): [member: string, score: number][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [
    flat[2 * index] ?? '',
    // inf and -inf, which were set by hand.
    Number(flat[2 * index + 1]?.replace('inf', 'Infinity')),
  ]);
}
