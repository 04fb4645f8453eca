import { pino } from 'pino';
import { changeRedis } from '../../control/change-redis.ts';
import { OperationFailure } from '../../control/invalid-operation.ts';
import { readOnlyAudit, type Session } from '../../control/session.ts';
import { loadConfig } from '../../platform/config/config.ts';
import {
  keyPrefix,
  keyPrefixIssue,
  keyPrefixPattern,
  readKeyPrefix,
  setKeyPrefix,
} from '../../platform/config/key-prefix.ts';
import { describeRedis, parseRedisUrl } from '../../platform/config/redis-url.ts';
import { readEmbeddedRedisUrl } from '../../platform/redis/embedded/embedded-redis.ts';
import { createRedis, onConnectionFailure, type RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { failOnClosedPipe, printWarning } from './output.ts';

const connectTimeoutMs = 3000;

let changeReason: string | undefined;

/** Sets the reason of the changes of the command that runs: `--reason`. */
export function setChangeReason(reason: string | undefined): void {
  changeReason = reason;
}

/**
 * Runs a command that reads from the gateway's Redis. It writes nothing there: Redis may be a replica, or full, and what
 * is missing may have been lost.
 * @param use gets the session, and whether the Redis is the private one of a gateway
 * @throws OperationFailure if Redis is unavailable
 */
export async function withRedis<T>(use: (session: Session, isPrivate: boolean) => Promise<T>): Promise<T> {
  const { redisUrl, dataDir } = loadConfig(process.env);
  const url = redisUrl ?? readEmbeddedRedisUrl(dataDir);
  if (url === undefined) {
    throw new OperationFailure(
      `no gateway keeps a Redis in the data directory ${dataDir}: start one with npm start, or set REDIS_URL or DATA_DIR as for it`,
    );
  }
  const redis = createRedis(url, pino({ level: 'silent' }));
  try {
    await waitUntilReady(redis, url);
    const [[seconds, micros]] = await Promise.all([redis.time(), adoptKeyPrefix(redis)]);
    // Gateways go by Redis' clock, and that of this machine may be wrong.
    const aheadMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000) - Date.now();
    const session = { redis, audit: readOnlyAudit, now: () => Date.now() + aheadMs };
    return await use(session, redisUrl === undefined);
  } finally {
    redis.disconnect();
  }
}

/**
 * Makes and redacts keys with the prefix of the gateways from now on, if one has run yet.
 * @throws OperationFailure if the prefix was edited into an invalid one
 */
async function adoptKeyPrefix(redis: RedisClient): Promise<void> {
  const prefix = (await readKeyPrefix(redis)) ?? keyPrefix();
  if (!keyPrefixPattern.test(prefix))
    throw new OperationFailure(
      `${redisKeys.keyPrefix} ${keyPrefixIssue}; a gateway writes it when it starts`,
    );
  setKeyPrefix(prefix);
}

/**
 * Runs a command that changes something, in the name of a person, as changeRedis does. If Redis does not confirm the
 * change, the command prints its result, and its exit code tells a script what is left to do.
 * @throws OperationFailure as withRedis does
 */
export async function withChanges<T>(who: string, use: (session: Session) => Promise<T>): Promise<T> {
  return withRedis(async ({ redis, now }, isPrivate) => {
    const { result, unconfirmed } = await changeRedis(
      { redis, now, who, reason: changeReason, isPrivate, warn: printWarning },
      (session) => {
        failOnClosedPipe();
        return use(session);
      },
    );
    if (unconfirmed !== undefined) {
      printWarning(unconfirmed);
      process.exitCode = unconfirmedExitCode;
    }
    return result;
  });
}

/** Exit code of a change that was made, but that a restart or a failover of Redis may undo. */
const unconfirmedExitCode = 3;

/** Gateways may be served by it all the same, or go on without it. */
export class RedisUnreachable extends OperationFailure {}

/** Errors that a retry does not resolve. */
const permanentErrors = /WRONGPASS|NOAUTH|NOPERM|certificate/;

function waitUntilReady(redis: RedisClient, url: string): Promise<void> {
  let lastError = 'no reply';
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(timer);
      reject(new RedisUnreachable(`${describeUrl(url)} cannot be reached: ${lastError}`));
    };
    const timer = setTimeout(fail, connectTimeoutMs);
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

/** Describes the address without a password. */
function describeUrl(url: string): string {
  const address = parseRedisUrl(url);
  return address === undefined ? 'Redis' : describeRedis(address);
}
