import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { seedBanPolicy } from '../quota/ban-policy.ts';
import { loadConfig } from '../config.ts';
import { readEmbeddedRedisUrl } from '../redis/embedded-redis.ts';
import { seedPlans } from '../quota/plans.ts';
import { createRedis } from '../redis/redis.ts';

/** The command can't be carried out here and now, though nothing is wrong with what was asked. */
export class OpsFailure extends Error {
  override name = 'OpsFailure';
}

const patienceMs = 3000;

/**
 * Runs something on the Redis of the gateway, plans seeded as a gateway would.
 * @throws OpsFailure where there is no Redis to be reached
 */
export async function withRedis<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
  const { redisUrl, dataDirectory } = loadConfig(process.env);
  const url = redisUrl ?? readEmbeddedRedisUrl(dataDirectory);
  if (url === undefined) {
    throw new OpsFailure(
      `no gateway runs with the data directory ${dataDirectory}: start one with npm start, or set REDIS_URL or DATA_DIR`,
    );
  }
  const redis = createRedis(url, pino({ level: 'silent' }));
  try {
    await untilReady(redis, url);
    await Promise.all([seedPlans(redis), seedBanPolicy(redis)]);
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

function untilReady(redis: Redis, url: string): Promise<void> {
  let lastError = 'no answer';
  redis.on('error', ({ message }: Error) => {
    lastError = message;
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // The address without what may be a password.
      reject(new OpsFailure(`Redis at ${new URL(url).host} cannot be reached: ${lastError}`));
    }, patienceMs);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
