import { z } from 'zod';
import { mastersOf, type RedisClient } from '../../platform/redis/redis-client.ts';
import { infoField, infoNumber, parseMemory } from '../../platform/redis/redis-memory.ts';

const countOrNull = z.int().nullable();

/** One Redis server that accepts writes. Some managed ones and stand-ins tell little. */
export const redisServerSchema = z
  .object({
    address: z.string().describe('Host and port'),
    version: z.string().nullable(),
    role: z.string().nullable(),
    memory: z.object({ usedBytes: z.int(), limitBytes: z.int() }).nullable(),
    appendOnly: z.boolean().nullable().describe('Whether changes are kept in an append-only file'),
    evictedKeys: countOrNull,
    connectedReplicas: countOrNull,
  })
  .meta({ id: 'RedisServer', description: 'What the server does not tell is null.' });

export type RedisServerStatus = z.infer<typeof redisServerSchema>;

/** Reads what the servers say of themselves, as far as the Redis user may run INFO. */
export function readRedisStatus(redis: RedisClient): Promise<RedisServerStatus[]> {
  return Promise.all(
    mastersOf(redis).map(async (server) => {
      const info = await server.info().catch(() => '');
      const number = (field: string) =>
        infoField(info, field) === undefined ? null : infoNumber(info, field);
      const appendOnly = infoField(info, 'aof_enabled');
      return {
        address: `${server.options.host}:${server.options.port}`,
        version: infoField(info, 'redis_version') ?? null,
        role: infoField(info, 'role') ?? null,
        memory: parseMemory(info) ?? null,
        appendOnly: appendOnly === undefined ? null : appendOnly === '1',
        evictedKeys: number('evicted_keys'),
        connectedReplicas: number('connected_slaves'),
      };
    }),
  );
}
