import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { loadConfig } from '../config/config.ts';
import { describeRedis, parseRedisUrl } from '../config/redis-url.ts';
import { waitForDisk, waitForReplicas } from '../operations/durability.ts';
import { readOnlyAudit, type ChangingSession, type Session } from '../operations/session.ts';
import { convertFirstBanPolicy } from '../quota/ban-policy.ts';
import { seedDefaults } from '../quota/seed-defaults.ts';
import { onConnectionFailure } from '../redis/connection-causes.ts';
import { readEmbeddedRedisUrl } from '../redis/embedded/embedded-redis.ts';
import { findWrongTypes } from '../redis/key-types.ts';
import { createAuditLog, type RecordChange } from '../redis/record-change.ts';
import { createRedis, type RedisClient } from '../redis/redis-client.ts';
import { isRedisConnectionLost, keysOfWrongType } from '../redis/redis-errors.ts';
import { appendOnlyOff, findRiskySettings } from '../redis/risky-settings.ts';
import { failOnClosedPipe, printError, printWarning } from './output.ts';

/** The command can't be executed here and now, although its input is valid. */
export class OpsFailure extends Error {
  override name = 'OpsFailure';
}

const connectTimeoutMs = 3000;

/**
 * Runs a command that reads from the gateway's Redis. It writes nothing there: Redis may be a replica, or full, and what
 * is missing may have been lost.
 * @param use gets the session, and whether the Redis is the private one of a gateway
 * @throws OpsFailure if Redis is unavailable, or a value in it has the wrong type
 */
export async function withRedis<T>(use: (session: Session, isPrivate: boolean) => Promise<T>): Promise<T> {
  const { redisUrl, dataDirectory } = loadConfig(process.env);
  const url = redisUrl ?? readEmbeddedRedisUrl(dataDirectory);
  if (url === undefined) {
    throw new OpsFailure(
      `no gateway is running with the data directory ${dataDirectory}: start one with npm start, or set REDIS_URL or DATA_DIR`,
    );
  }
  const redis = createRedis(url, pino({ level: 'silent' }));
  try {
    await waitUntilReady(redis, url);
    const [seconds, micros] = await redis.time();
    const aheadMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) - Date.now();
    const session = { redis, audit: readOnlyAudit, now: () => Date.now() + aheadMs };
    return await use(session, redisUrl === undefined);
  } catch (error) {
    await assertTypes(redis, keysOfWrongType(error));
    throw error;
  } finally {
    redis.disconnect();
  }
}

/**
 * Runs a command that changes something, in the name of a person, and waits until it is on Redis' disk and on its
 * replicas. Seeds plans and ban policy, and converts a ban policy of earlier versions, as a gateway would, for a Redis
 * that is set up before the first gateway runs.
 * @throws OpsFailure if the change could not be audited; then nothing is changed
 */
export async function withChanges<T>(who: string, use: (session: ChangingSession) => Promise<T>): Promise<T> {
  return withRedis(async ({ redis, now }, isPrivate) => {
    await assertTypes(redis);
    await seedDefaults(redis, who);
    failOnClosedPipe();
    const changed = new Set<string>();
    const recordChange = createAuditLog({ redis, who });
    const audit: RecordChange = (change) => {
      changed.add(change.target);
      return recordChange(change);
    };
    await convertFirstBanPolicy(redis, audit);
    // Of its private Redis, the gateway itself says at its start what may be lost.
    const warned = isPrivate ? new Set([appendOnlyOff]) : await warnOfRiskySettings(redis);
    const waitUntilDurable = () => assertDurable(redis, changed, warned);
    const result = await use({ redis, audit, now, waitUntilDurable });
    await waitUntilDurable();
    await warnUnlessReplicated(redis, changed);
    return result;
  });
}

/**
 * @param keys all shared keys if none are given
 * @throws OpsFailure for a key that was edited into another type of value
 */
async function assertTypes(redis: RedisClient, keys?: readonly string[]): Promise<void> {
  for (const { key, issue } of await findWrongTypes(redis, keys)) {
    throw new OpsFailure(`${key} ${issue}: DEL it or restore it first`);
  }
}

/**
 * Warns if Redis may lose the change later, on standard error only: it concerns Redis and not this change.
 * @returns the warnings; empty also if the Redis user may not run INFO
 */
async function warnOfRiskySettings(redis: RedisClient): Promise<Set<string>> {
  const risks = await findRiskySettings(redis).catch((): string[] => []);
  for (const risk of risks) printError(`warning: Redis: ${risk}`);
  return new Set(risks);
}

const memoryOnly = 'this Redis has no append-only file, so a restart loses the change';
/** Rules that were made for a Redis before 7.2, for example. */
const waitAofRefused =
  'the Redis user may not run WAITAOF, so it is unknown whether the change is on disk; see ops redis-acl';

/**
 * @param warned warnings that were printed; an operation may wait for the disk several times
 * @throws OpsFailure if Redis does not confirm that the changes are on its disk
 */
async function assertDurable(
  redis: RedisClient,
  changed: ReadonlySet<string>,
  warned: Set<string>,
): Promise<void> {
  switch (await waitForDisk(redis)) {
    case 'durable':
    case 'unknown':
      return;
    case 'memory_only':
      if (!warned.has(appendOnlyOff)) printError(`warning: ${memoryOnly}`);
      warned.add(appendOnlyOff);
      return;
    case 'not_permitted':
      if (!warned.has(waitAofRefused)) printError(`warning: ${waitAofRefused}`);
      warned.add(waitAofRefused);
      return;
    case 'unconfirmed':
      throw new OpsFailure(
        `the change of ${[...changed].join(', ')} was made, but Redis did not confirm that it is on disk`,
      );
  }
}

/** Exit code of a change that was made, but that a failover may undo. */
const unconfirmedExitCode = 3;
const maxNamed = 10;

/** The change is in force: the command prints its result, and its exit code tells a script what is left to do. */
async function warnUnlessReplicated(redis: RedisClient, changed: ReadonlySet<string>): Promise<void> {
  const replication = await waitForReplicas(redis);
  if (replication === undefined) {
    printWarning(
      'the Redis user may not run INFO and WAIT, so it is unknown whether replicas have the change',
    );
    return;
  }
  const { replicas, confirmed } = replication;
  if (confirmed === replicas) return;
  const change = changed.size === 0 || changed.size > maxNamed ? '' : ` of ${[...changed].join(', ')}`;
  printWarning(
    `${replicas - confirmed} of ${replicas} replicas of Redis have not confirmed the change${change}: ` +
      'it is in force, but a failover may undo it',
  );
  process.exitCode = unconfirmedExitCode;
}

/** Errors that a retry does not resolve. */
const permanentErrors = /WRONGPASS|NOAUTH|NOPERM|certificate/;

function waitUntilReady(redis: RedisClient, url: string): Promise<void> {
  let lastError = 'no reply';
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer);
      reject(new OpsFailure(`${describeUrl(url)} cannot be reached: ${lastError}`));
    };
    const timer = setTimeout(() => {
      void isLoading(redis).then((loading) => {
        if (!loading) return fail();
        reject(new OpsFailure(`${describeUrl(url)} is loading its data; retry later`));
      });
    }, connectTimeoutMs);
    onConnectionFailure(redis, (cause) => {
      lastError = cause;
      if (permanentErrors.test(cause)) fail();
    });
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const loadingTimeoutMs = 500;

/** A server that loads its data accepts connections, and replies to INFO but to little else. */
async function isLoading(redis: RedisClient): Promise<boolean> {
  const info = redis.info('persistence').catch(() => '');
  return /^loading:1/m.test(await Promise.race([info, sleep(loadingTimeoutMs, '')]));
}

/** Describes the address without a password. */
function describeUrl(url: string): string {
  const address = parseRedisUrl(url);
  return address === undefined ? 'Redis' : describeRedis(address);
}

const retryMs = 1000;

/** For a command that runs until it is stopped: waits for a Redis that became unavailable, and says so. */
export async function retryWhileUnavailable<T>(read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isRedisConnectionLost(error)) throw error;
      printError('Redis is unavailable; retrying');
      await sleep(retryMs);
    }
  }
}
