import { setImmediate } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-client.ts';
import { wrongTypeOf } from './redis-errors.ts';

type Hash = Record<string, string>;

export type HashReader = ReturnType<typeof createHashReader>;

/** Reads the hashes that are asked for in one turn of the event loop by one command. */
export function createHashReader(redis: RedisClient) {
  let batch: { keys: string[]; replies: Promise<(string | string[])[]> } | undefined;

  function createBatch() {
    const keys: string[] = [];
    // Not in a microtask: each request of a turn has its own.
    const replies = setImmediate().then(() => {
      batch = undefined;
      return redis.readHashes(keys.length, ...keys);
    });
    return { keys, replies };
  }

  async function readInBatch(wanted: readonly string[]): Promise<(string | string[])[]> {
    // There, the keys of a script have to be in one slot.
    if (redis instanceof Cluster) return redis.readHashes(wanted.length, ...wanted);
    batch ??= createBatch();
    const { keys, replies } = batch;
    const end = keys.push(...wanted);
    return (await replies).slice(end - wanted.length, end);
  }

  return {
    /** @throws UnexpectedValue if the key holds something else */
    async read(key: string): Promise<Hash> {
      const [reply] = await readInBatch([key]);
      return hashOf(key, reply);
    },
    /** Reads two hashes of one slot at the same moment. @throws UnexpectedValue as read does */
    async readBoth(one: string, other: string): Promise<[Hash, Hash]> {
      const [first, second] = await readInBatch([one, other]);
      return [hashOf(one, first), hashOf(other, second)];
    },
  };
}

/** @param reply of read-hashes.lua for one key: a text is the error of reading it */
function hashOf(key: string, reply: string | string[] = []): Hash {
  if (typeof reply === 'string') throw wrongTypeOf([key]);
  return fieldsOf(reply);
}

/** @param reply fields and values in turn, as a script returns what HGETALL gives it */
function fieldsOf(reply: readonly string[]): Hash {
  const fields: [string, string][] = [];
  for (let at = 0; at < reply.length; at += 2) fields.push([reply[at] ?? '', reply[at + 1] ?? '']);
  return Object.fromEntries(fields);
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
