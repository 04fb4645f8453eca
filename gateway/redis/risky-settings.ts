import { mastersOf, type RedisClient } from './redis-client.ts';

/**
 * Settings of Redis under which it may lose API keys, counters or bans without a fault that anybody would see. Nothing
 * where it does not tell, as managed ones may not.
 */
export async function riskySettings(redis: RedisClient): Promise<string[]> {
  const found = await Promise.all(
    mastersOf(redis).map(async (master) => {
      const info = `${await master.info('memory')}\n${await master.info('persistence')}`;
      const read = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
      const policy = read('maxmemory_policy') ?? 'noeviction';
      const evicts = policy !== 'noeviction' && Number(read('maxmemory') ?? 0) > 0;
      const risks: string[] = [];
      if (evicts) {
        risks.push(
          `maxmemory-policy is ${policy}, which drops API keys where memory is short: set noeviction`,
        );
      }
      if (read('aof_enabled') === '0') {
        risks.push(
          'appendonly is off, so that a restart of Redis may lose API keys and counters: set it to yes',
        );
      }
      return risks;
    }),
  );
  return [...new Set(found.flat())];
}
