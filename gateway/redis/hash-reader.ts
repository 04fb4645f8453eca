import { setImmediate } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import type { RedisClient } from './redis-client.ts';
import { replyError } from './redis-errors.ts';

export interface HashReader {
  /** @throws ReplyError WRONGTYPE if the key holds something else */
  read(key: string): Promise<Record<string, string>>;
  /** Reads hashes of one slot at the same moment. @returns undefined for what is no hash */
  readTogether(...keys: string[]): Promise<(Record<string, string> | undefined)[]>;
}

/** Reads the hashes that are asked for in one turn of the event loop by one command. */
export function createHashReader(redis: RedisClient): HashReader {
  // There, the keys of a script have to be in one slot.
  if (redis instanceof Cluster) {
    return {
      read: (key) => redis.hgetall(key),
      readTogether: async (...keys) => (await redis.readHashes(keys.length, ...keys)).map(hashOf),
    };
  }
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
    batch ??= createBatch();
    const { keys, replies } = batch;
    const end = keys.push(...wanted);
    return (await replies).slice(end - wanted.length, end);
  }

  return {
    async read(key) {
      const [reply = []] = await readInBatch([key]);
      if (typeof reply === 'string') throw replyError(reply);
      return fieldsOf(reply);
    },
    readTogether: async (...keys) => (await readInBatch(keys)).map(hashOf),
  };
}

const hashOf = (reply: string | string[]) => (typeof reply === 'string' ? undefined : fieldsOf(reply));

/** @param reply fields and values in turn, as a script returns what HGETALL gives it */
export function fieldsOf(reply: readonly string[]): Record<string, string> {
  const fields: [string, string][] = [];
  for (let at = 0; at < reply.length; at += 2) fields.push([reply[at] ?? '', reply[at + 1] ?? '']);
  return Object.fromEntries(fields);
}
