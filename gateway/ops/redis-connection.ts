import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '../config/config.ts';
import { describeRedis, parseRedisUrl } from '../config/redis-url.ts';
import { messageOf } from '../errors.ts';
import { createAuditLog, type RecordChange } from '../operations/audit-log.ts';
import { seedPlans } from '../plans/plans.ts';
import { seedBanPolicy } from '../quota/ban-policy.ts';
import { readEmbeddedRedisUrl } from '../redis/embedded/embedded-redis.ts';
import { wrongTypes } from '../redis/key-types.ts';
import { createRedis, mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { isConnectionLoss, keysOfWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { readersMatter, writeFault } from './output.ts';

/** The command can't be carried out here and now, though nothing is wrong with what was asked. */
export class OpsFailure extends Error {
  override name = 'OpsFailure';
}

const patienceMs = 3000;

/** What a command works with. */
export interface Session {
  redis: RedisClient;
  /** Fails for a command that only reads. */
  audit: RecordChange;
  /** Unix milliseconds by Redis' clock, which is the one that counts. */
  now: () => number;
}

/** What a changing command works with. */
export interface ChangingSession extends Session {
  /** Resolves when all that was changed so far is on the disk of Redis. */
  durable(): Promise<void>;
}

/**
 * Reads something in the Redis of the gateway, and writes nothing there: it may be a replica, or full, and what is
 * missing may be missing because it was lost.
 * @throws OpsFailure where there is no Redis to be reached, or a value in it is of a type that nothing can be done with
 */
export async function withRedis<T>(use: (session: Session) => Promise<T>): Promise<T> {
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
    const [seconds, micros] = await redis.time();
    const aheadMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) - Date.now();
    return await use({ redis, audit: nothingChanges, now: () => Date.now() + aheadMs });
  } catch (error) {
    await assertTypes(redis, keysOfWrongType(error));
    throw error;
  } finally {
    redis.disconnect();
  }
}

const nothingChanges: RecordChange = () =>
  Promise.reject(new Error('a command that only reads has changed something'));

/**
 * As withRedis, for a command that changes something: in whose name it does so, and on the disk of Redis before
 * it says so. Plans and ban policy are seeded as a gateway would, for who sets up a Redis before the first one runs.
 * @throws OpsFailure where the change could not be audited; then nothing is changed
 */
export async function withChanges<T>(who: string, use: (session: ChangingSession) => Promise<T>): Promise<T> {
  return withRedis(async ({ redis, now }) => {
    // Before anything depends on them.
    await assertTypes(redis);
    // Running gateways have the limits that were in force, should they be lost here, and must not get others.
    if ((await redis.zcard(redisKeys.instances)) === 0) {
      await Promise.all([seedPlans(redis), seedBanPolicy(redis)]);
    }
    readersMatter();
    const changed = new Set<string>();
    const recordChange = createAuditLog({ redis, who });
    const audit: RecordChange = (change) => {
      changed.add(change.target);
      return recordChange(change);
    };
    const durable = () => untilDurable(redis, changed);
    const result = await use({ redis, audit, now, durable });
    await durable();
    return result;
  });
}

/**
 * @param keys all that the gateway shares where none are given
 * @throws OpsFailure for a key that was edited into another type of value
 */
async function assertTypes(redis: RedisClient, keys?: readonly string[]): Promise<void> {
  for (const { key, fault } of await wrongTypes(redis, keys))
    throw new OpsFailure(`${key} ${fault}: DEL or mend it first`);
}

/** Less than the connection lets an answer take. */
const durableMs = 1500;
const durableAttempts = 4;

/**
 * Waits until all that was written is in the append-only file on the disk (WAITAOF, from Redis 7.2 on). An older
 * server can't be asked.
 * @throws OpsFailure where it does not get there
 */
async function untilDurable(redis: RedisClient, changed: ReadonlySet<string>): Promise<void> {
  try {
    for (let attempt = 0; attempt < durableAttempts; attempt += 1) {
      const answers = await Promise.all(
        mastersOf(redis).map((master) => master.call('WAITAOF', '1', '0', String(durableMs))),
      );
      if (answers.every((answer) => Array.isArray(answer) && Number(answer[0]) >= 1)) return;
    }
  } catch (error) {
    const message = messageOf(error);
    if (/unknown command/i.test(message)) return;
    if (!/appendonly is disabled/i.test(message)) throw error;
    process.stderr.write(
      'ops: warning: this Redis keeps no append-only file, so the change is lost with it\n',
    );
    return;
  }
  throw new OpsFailure(
    `the change of ${[...changed].join(', ')} is made, but Redis does not confirm that it is on its disk`,
  );
}

/** What trying again does not mend. */
const hopeless = /WRONGPASS|NOAUTH|NOPERM|certificate/;

function untilReady(redis: RedisClient, url: string): Promise<void> {
  let lastError = 'no answer';
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer);
      reject(new OpsFailure(`${describeUrl(url)} cannot be reached: ${lastError}`));
    };
    const timer = setTimeout(() => {
      void isLoading(redis).then((loading) => {
        if (!loading) return fail();
        reject(new OpsFailure(`${describeUrl(url)} is loading its data: try again when it is ready`));
      });
    }, patienceMs);
    redis.on('error', ({ message }: Error) => {
      lastError = message;
      if (hopeless.test(message)) fail();
    });
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Less than anybody would notice, for one that does not answer. */
const loadingAnswerMs = 500;

/** While it loads its data a server takes connections, and answers INFO but little else. */
async function isLoading(redis: RedisClient): Promise<boolean> {
  const info = redis.info('persistence').catch(() => '');
  return /^loading:1/m.test(await Promise.race([info, sleep(loadingAnswerMs, '')]));
}

/** Without what may be a password. */
function describeUrl(url: string): string {
  const address = parseRedisUrl(url);
  return address === undefined ? 'Redis' : describeRedis(address);
}

const retryMs = 1000;

/** For a command that goes on until it is ended: waits for a Redis that went away, and says so. */
export async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
      writeFault('Redis is away, trying again');
      await sleep(retryMs);
    }
  }
}
