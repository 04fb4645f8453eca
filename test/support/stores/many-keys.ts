import { createHash } from 'node:crypto';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { formatPlace, redisKeys, type KeyPlace } from '../../../gateway/platform/redis/redis-keys.ts';

const batchSize = 1000;

/** Writes records and indexes of customers with a key each, named `many 0`, `many 1` and so on, each older than the one before. */
export async function fillWithKeys(redis: RedisClient, count: number): Promise<void> {
  const newestMs = Date.UTC(2026, 0, 1);
  for (let first = 0; first < count; first += batchSize) {
    const pipeline = redis.pipeline();
    for (let number = first; number < Math.min(count, first + batchSize); number += 1) {
      const keyHash = createHash('sha256').update(`many ${number}`).digest('hex');
      const id = `key_${number.toString(16).padStart(18, '0')}`;
      const createdAtMs = newestMs - number * 1000;
      const place: KeyPlace = { customerId: `cus_${id.slice('key_'.length)}`, keyHash };
      const { customerId } = place;
      const [name, createdAt] = [`many ${number}`, new Date(createdAtMs).toISOString()];
      pipeline.hset(redisKeys.customer(customerId), {
        id: customerId,
        name,
        createdAt,
        plan: 'free',
        rev: 1,
      });
      pipeline.hset(redisKeys.apiKey(place), { id, name, createdAt, hint: `pets_${keyHash.slice(0, 4)}…` });
      pipeline.sadd(redisKeys.customerKeys(customerId), id);
      pipeline.set(redisKeys.keyCustomer(keyHash), customerId);
      pipeline.hset(redisKeys.apiKeyIds, id, formatPlace(place));
      pipeline.zadd(redisKeys.apiKeysByCreation, createdAtMs, id);
      pipeline.zadd(redisKeys.customers, createdAtMs, customerId);
    }
    await pipeline.exec();
  }
}
