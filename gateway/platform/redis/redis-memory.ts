import { mastersOf, type RedisClient } from './redis-client.ts';

interface RedisMemory {
  usedBytes: number;
  /** `maxmemory`, or the memory of the machine if that is 0. In a container, the machine may have more than Redis may use. */
  limitBytes: number;
}

/**
 * Memory of the fullest master.
 * @returns undefined if Redis does not tell, because its user may not run INFO or the server is not a Redis of its own
 */
export async function readRedisMemory(redis: RedisClient): Promise<RedisMemory | undefined> {
  const infos = await Promise.all(mastersOf(redis).map((master) => master.info('memory').catch(() => '')));
  const memories = infos.flatMap((info) => parseMemory(info) ?? []);
  const fullness = ({ usedBytes, limitBytes }: RedisMemory) => usedBytes / limitBytes;
  return memories.toSorted((a, b) => fullness(b) - fullness(a))[0];
}

/** @param info reply to INFO memory */
export function parseMemory(info: string): RedisMemory | undefined {
  const read = (field: string) => infoNumber(info, field);
  // Redis compares the same with maxmemory: without its buffers for replicas and the append-only file.
  const usedBytes = read('used_memory') - read('mem_not_counted_for_evict');
  const limitBytes = read('maxmemory') || read('total_system_memory');
  return usedBytes > 0 && limitBytes > 0 ? { usedBytes, limitBytes } : undefined;
}

/** Value of a field in the reply to INFO; undefined if the reply lacks it. */
export function infoField(info: string, field: string): string | undefined {
  return new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
}

/** The same for a field that holds a number; 0 if the reply has no such number. */
export const infoNumber = (info: string, field: string) => Number(infoField(info, field)) || 0;

/**
 * Settings of Redis under which it may silently lose API keys, counters or bans. Empty if Redis does not tell, which some
 * managed ones do not.
 */
export async function findRiskySettings(redis: RedisClient): Promise<string[]> {
  const found = await Promise.all(
    mastersOf(redis).map(async (master) => {
      const info = `${await master.info('memory')}\n${await master.info('persistence')}`;
      const policy = infoField(info, 'maxmemory_policy') ?? 'noeviction';
      const evicts = policy !== 'noeviction' && infoNumber(info, 'maxmemory') > 0;
      return [
        evicts && `maxmemory-policy is ${policy}, which evicts API keys when memory is full: set noeviction`,
        infoField(info, 'aof_enabled') === '0' &&
          'appendonly is off, so a restart of Redis may lose API keys and counters: set it to yes',
      ].filter((risk) => risk !== false);
    }),
  );
  return [...new Set(found.flat())];
}
