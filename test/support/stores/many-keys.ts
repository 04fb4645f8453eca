import { createHash } from 'node:crypto';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/redis/redis-keys.ts';

const batchSize = 1000;

/** Writes records and index of keys named `many 0`, `many 1` and so on, each older than the one before. */
export async function fillWithKeys(redis: RedisClient, count: number): Promise<void> {
  const newestMs = Date.UTC(2026, 0, 1);
  for (let first = 0; first < count; first += batchSize) {
    const pipeline = redis.pipeline();
    for (let number = first; number < Math.min(count, first + batchSize); number += 1) {
      const keyHash = createHash('sha256').update(`many ${number}`).digest('hex');
      const id = `key_${number.toString(16).padStart(18, '0')}`;
      const createdAtMs = newestMs - number * 1000;
      const record = {
        id,
        name: `many ${number}`,
        plan: 'free',
        hint: `pets_${keyHash.slice(0, 4)}…`,
        rev: 1,
      };
      pipeline.hset(redisKeys.apiKey(keyHash), { ...record, createdAt: new Date(createdAtMs).toISOString() });
      pipeline.hset(redisKeys.apiKeyIds, id, keyHash);
      pipeline.zadd(redisKeys.apiKeysByCreation, createdAtMs, id);
    }
    await pipeline.exec();
  }
}
