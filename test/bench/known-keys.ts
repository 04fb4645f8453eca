import { writeFile } from 'node:fs/promises';
import { generateApiKey, hashApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { maxLimit } from '../../gateway/limits/limits.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { adoptKeyPrefix } from '../support/kits/keys.ts';

const batchSize = 1000;
const idLength = 18;

/** Adds keys without limits, each of a customer of its own, and writes them into a file, one a line. */
export async function addKnownKeys(redis: RedisClient, count: number, file: string): Promise<void> {
  await adoptKeyPrefix(redis);
  const keys: string[] = [];
  while (keys.length < count) {
    const pipeline = redis.pipeline();
    for (let added = 0; added < Math.min(batchSize, count); added += 1) {
      const key = generateApiKey();
      const keyHash = hashApiKey(key);
      const customerId = `cus_${keyHash.slice(0, idLength)}` as const;
      const shared = { name: 'bench', createdAt: new Date().toISOString() };
      const limits = { plan: 'enterprise', minute: maxLimit, day: maxLimit, rev: 1 };
      const id = `key_${keyHash.slice(0, idLength)}`;
      pipeline.hset(redisKeys.customer(customerId), { id: customerId, ...shared, ...limits });
      pipeline.hset(redisKeys.apiKey({ customerId, keyHash }), { id, ...shared, hint: 'pets_…' });
      pipeline.set(redisKeys.keyCustomer(keyHash), customerId);
      keys.push(key);
    }
    await pipeline.exec();
  }
  await writeFile(file, keys.join('\n'));
}
