import type { RedisClient } from './redis-client.ts';
import { nameWrongType } from './redis-errors.ts';

type Hash = Record<string, string>;

export type HashReader = ReturnType<typeof createHashReader>;

/** Reads hashes that operators may have edited. ioredis sends the commands of one turn of the event loop together. */
export function createHashReader(redis: RedisClient) {
  /** @throws UnexpectedValue if the key holds something else */
  async function read(key: string): Promise<Hash> {
    try {
      return await redis.hgetall(key);
    } catch (error) {
      throw nameWrongType(error);
    }
  }
  return {
    read,
    /** Reads two hashes of one slot, the first one not later than the second. @throws UnexpectedValue as read does */
    readBoth: (one: string, other: string): Promise<[Hash, Hash]> => Promise.all([read(one), read(other)]),
  };
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
