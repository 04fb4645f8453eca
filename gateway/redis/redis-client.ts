import { readFileSync } from 'node:fs';
import { Cluster, Redis, type RedisOptions, type Result } from 'ioredis';
import type { Logger } from 'pino';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.ts';
import { createOnceAMinute } from '../observability/log-throttle.ts';
import type { QuotaKeys } from './redis-keys.ts';

/** One server, found directly or through Sentinels, or a Redis Cluster. */
export type RedisClient = Redis | Cluster;

const script = (name: string) => readFileSync(new URL(`scripts/${name}`, import.meta.url), 'utf8');
/** Lua has no imports that Redis Cluster would allow: what scripts share stands before each. */
const withClock = (name: string) => script('clock.lua') + script(name);

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** consume.lua: five keys and four arguments for each request */
    consumeQuota(numberOfKeys: number, ...keysAndArgs: (string | number)[]): Result<number[][], Context>;
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

const scripts = {
  consumeQuota: { lua: withClock('consume.lua') },
  readUsage: { numberOfKeys: 5, lua: withClock('read-usage-5.lua') },
  addDayUsage: { numberOfKeys: 2, lua: script('add-day-usage-2.lua') },
  setFields: { numberOfKeys: 1, lua: script('set-fields-1.lua') },
  changeRecord: { numberOfKeys: 1, lua: script('change-record-1.lua') },
};

/** Between reconnections to a server that turns out to be a replica. */
const readonlyPatienceMs = 1000;
/** How long a change of the master, or of a cluster's shards, goes unnoticed where nobody tells of it. */
const topologyRefreshMs = 1000;
const retryDelayMs = (attempt: number) => Math.min(50 * attempt, 500);

/**
 * A connection for counting: a command is sent at once or fails at once (in a cluster, as soon as its node is
 * connected to), and is never sent twice, since an increment that is repeated behind our back would count a request
 * double.
 *
 * @param url one of the forms of redis-url.ts. Connects in the background and reconnects for as long as it lives.
 */
export function createRedis(url: string, log: Logger): RedisClient {
  const address = parseRedisUrl(url);
  if (address === undefined) throw new Error('REDIS_URL is none that config.ts lets pass');
  const client = address.kind === 'cluster' ? createCluster(address) : createSingle(address);
  const warn = createWarning(log);
  client.on('error', warn);
  client.on('node error', warn);
  return client;
}

/** What ioredis says of Sentinels before it comes to the cause, with a number that grows with each attempt. */
const sentinelPreface = /^All sentinels are unreachable\. Retrying from scratch after \d+ms\. Last error: /;

/** One line per cause and minute, not one per attempt. */
function createWarning(log: Logger): (error: Error) => void {
  const isDue = createOnceAMinute();
  return function warn(error) {
    const cause = error.message.replace(sentinelPreface, 'No Sentinel tells the master: ');
    if (isDue(cause)) log.warn({ reason: cause }, 'Redis connection failed, trying again');
  };
}

/** The servers that take writes: one, or one for each shard. */
export function mastersOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** What every connection has, to whichever kind of server. */
function connectionOptions({ username, password, tls }: RedisAddress) {
  let reconnectedAtMs = 0;
  return {
    connectionName: 'gateway',
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
    // IPv4 and IPv6.
    family: 0,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1000,
    // How long it goes unnoticed that a server has its data again; else as long as the server itself thinks it takes.
    maxLoadingRetryTime: 250,
    // How long a peer may take to close its end when we leave.
    disconnectTimeout: 200,
    // A peer that vanished without a word is noticed when a command stays unanswered for this long.
    socketTimeout: 2000,
    // After a failover the old master answers READONLY: connect anew to find the new one, but not for each command.
    reconnectOnError(error: Error) {
      if (!error.message.startsWith('READONLY') || Date.now() - reconnectedAtMs < readonlyPatienceMs)
        return false;
      reconnectedAtMs = Date.now();
      return true;
    },
  } satisfies RedisOptions;
}

function createSingle(address: Exclude<RedisAddress, { kind: 'cluster' }>): Redis {
  const [first] = address.hosts;
  return new Redis({
    ...connectionOptions(address),
    ...(address.kind === 'sentinel' ? sentinelOptions(address) : first),
    db: address.database,
    scripts,
    enableAutoPipelining: true,
    // The probe of the gate must not queue behind commands that wait for an answer; quotas have batches of their own.
    autoPipeliningIgnoredCommands: ['ping', 'consumeQuota'],
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
  });
}

function sentinelOptions(address: Extract<RedisAddress, { kind: 'sentinel' }>) {
  const { hosts, masterName, tls, sentinelUsername, sentinelPassword } = address;
  return {
    sentinels: hosts,
    name: masterName,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    sentinelRetryStrategy: retryDelayMs,
    sentinelCommandTimeout: 1000,
    // The Sentinels tell when they have made another server the master, so that nobody waits for the old one.
    failoverDetector: true,
  } satisfies RedisOptions;
}

function createCluster(address: Extract<RedisAddress, { kind: 'cluster' }>): Cluster {
  return new Cluster(address.hosts, {
    scripts,
    redisOptions: connectionOptions(address),
    // Certificates are made out to names, and a cluster may tell its nodes by name.
    ...(address.tls ? { dnsLookup: (name, callback) => callback(null, name) } : {}),
    // Of commands that share a pipeline, those whose slot has moved would fail and not be sent on to its new owner.
    enableAutoPipelining: false,
    // A node is connected to when it is first needed: what comes meanwhile waits, no longer than the gate lets it.
    enableOfflineQueue: true,
    clusterRetryStrategy: retryDelayMs,
    slotsRefreshInterval: topologyRefreshMs,
    slotsRefreshTimeout: topologyRefreshMs / 2,
    // Would send a command again that may have been carried out.
    retryDelayOnFailover: 0,
    // Waiting is for the gate to decide on.
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    maxRedirections: 4,
  });
}
