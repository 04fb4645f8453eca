import { mastersOf, type RedisClient } from './redis-client.ts';
import { infoField } from './redis-memory.ts';

/** The risk of a Redis that keeps no append-only file. */
export const appendOnlyOff =
  'appendonly is off, so a restart of Redis may lose API keys and counters: set it to yes';

/**
 * Settings of Redis under which it may silently lose API keys, counters or bans. Empty if Redis does not tell, which some
 * managed ones do not.
 */
export async function findRiskySettings(redis: RedisClient): Promise<string[]> {
  const found = await Promise.all(
    mastersOf(redis).map(async (master) => {
      const info = `${await master.info('memory')}\n${await master.info('persistence')}`;
      const policy = infoField(info, 'maxmemory_policy') ?? 'noeviction';
      const evicts = policy !== 'noeviction' && Number(infoField(info, 'maxmemory') ?? 0) > 0;
      const risks: string[] = [];
      if (evicts) {
        risks.push(
          `maxmemory-policy is ${policy}, which evicts API keys when memory is full: set noeviction`,
        );
      }
      if (infoField(info, 'aof_enabled') === '0') risks.push(appendOnlyOff);
      return risks;
    }),
  );
  return [...new Set(found.flat())];
}
