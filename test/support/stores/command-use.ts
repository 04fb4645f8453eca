import type { Redis } from 'ioredis';

/** Forgets which commands a server has executed. */
export async function resetCommandUse(redis: Redis): Promise<void> {
  await redis.config('RESETSTAT');
}

/** Names of the commands that a server has executed since, also in scripts; subcommands after a bar as in ACL rules. */
export async function readCommandUse(redis: Redis): Promise<string[]> {
  const stats = await redis.info('commandstats');
  return Array.from(
    stats.matchAll(/^cmdstat_([^:]+):calls=([1-9]\d*)/gm),
    ([, name = '']) => name,
  ).toSorted();
}
