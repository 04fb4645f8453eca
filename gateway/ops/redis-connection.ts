import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { createAuditLog, type RecordChange } from '../audit-log.ts';
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

/** The audit log of a command that only reads. */
export const nothingChanges: RecordChange = () =>
  Promise.reject(new Error('a command that only reads has changed something'));

/** What a changing command works with. */
export interface Changing {
  redis: Redis;
  audit: RecordChange;
}

/**
 * As withRedis, for a command that changes something: in whose name it does so, and on the disk of Redis before
 * it says so.
 */
export async function withChanges<T>(who: string, use: (changing: Changing) => Promise<T>): Promise<T> {
  return withRedis(async (redis) => {
    const result = await use({ redis, audit: createAuditLog({ redis, who }) });
    await untilDurable(redis);
    return result;
  });
}

/** Less than the connection lets an answer take. */
const durableMs = 1500;
const durableAttempts = 4;

/**
 * Waits until all that was written is in the append-only file on the disk (WAITAOF, from Redis 7.2 on). An older
 * server can't be asked.
 * @throws OpsFailure where it does not get there
 */
async function untilDurable(redis: Redis): Promise<void> {
  try {
    for (let attempt = 0; attempt < durableAttempts; attempt += 1) {
      const answer: unknown = await redis.call('WAITAOF', '1', '0', String(durableMs));
      if (Array.isArray(answer) && Number(answer[0]) >= 1) return;
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (/unknown command/i.test(message)) return;
    if (!/appendonly is disabled/i.test(message)) throw error;
    process.stderr.write(
      'ops: warning: this Redis keeps no append-only file, so the change is lost with it\n',
    );
    return;
  }
  throw new OpsFailure('the change is made, but Redis does not confirm that it is on its disk');
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
