import { readFileSync } from 'node:fs';
import { Redis, type Result } from 'ioredis';
import type { Logger } from 'pino';
import type { QuotaKeys } from './redis-keys.ts';

const script = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
/** Lua has no imports that Redis Cluster would allow: what scripts share stands before each. */
const withClock = (name: string) => script('clock.lua') + script(name);

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** consume-5.lua */
    consumeQuota(...keysAndArgs: [...QuotaKeys, ...(string | number)[]]): Result<number[], Context>;
    /** read-usage-5.lua */
    readUsage(...keysAndArgs: [...QuotaKeys, ...(string | number)[]]): Result<number[], Context>;
    /** add-day-usage-2.lua */
    addDayUsage(dayKey: string, reportKey: string, ...args: (string | number)[]): Result<number, Context>;
    /** set-fields-1.lua */
    setFields(hashKey: string, ...args: (string | number)[]): Result<number, Context>;
    /** change-record-1.lua */
    changeRecord(recordKey: string, ...args: (string | number)[]): Result<number, Context>;
  }
}

/** Between reconnections to a server that turns out to be a replica. */
const readonlyPatienceMs = 1000;

/**
 * A connection for counting: a command is sent at once or fails at once, and is never sent twice, since an
 * increment that is repeated behind our back would count a request double.
 *
 * @param url redis:// or rediss://. Connects in the background and reconnects for as long as it lives.
 */
export function createRedis(url: string, log: Logger): Redis {
  let reconnectedAtMs = 0;
  const redis = new Redis(url, {
    connectionName: 'gateway',
    scripts: {
      consumeQuota: { numberOfKeys: 5, lua: withClock('consume-5.lua') },
      readUsage: { numberOfKeys: 5, lua: withClock('read-usage-5.lua') },
      addDayUsage: { numberOfKeys: 2, lua: script('add-day-usage-2.lua') },
      setFields: { numberOfKeys: 1, lua: script('set-fields-1.lua') },
      changeRecord: { numberOfKeys: 1, lua: script('change-record-1.lua') },
    },
    enableAutoPipelining: true,
    // The probe of the gate must not queue behind commands that wait for an answer.
    autoPipeliningIgnoredCommands: ['ping'],
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1000,
    // A peer that vanished without a word is noticed when a command stays unanswered for this long.
    socketTimeout: 2000,
    retryStrategy: (attempt) => Math.min(50 * attempt, 500),
    // After a failover the old master answers READONLY: connect anew to find the new one, but not for each command.
    reconnectOnError(error) {
      if (!error.message.startsWith('READONLY') || Date.now() - reconnectedAtMs < readonlyPatienceMs)
        return false;
      reconnectedAtMs = Date.now();
      return true;
    },
  });
  let lastMessage = '';
  redis.on('error', (error: Error) => {
    // One line per cause, not one per attempt.
    if (error.message === lastMessage) return;
    lastMessage = error.message;
    log.warn({ err: error }, 'Redis connection failed, trying again');
  });
  redis.on('ready', () => {
    lastMessage = '';
  });
  return redis;
}
