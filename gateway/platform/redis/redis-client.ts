import type { EventEmitter } from 'node:events';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import { Cluster, Redis, type ClientContext, type RedisOptions, type Result } from 'ioredis';
import type { Logger } from 'pino';
import { parseRedisUrl, type RedisAddress } from '../config/redis-url.ts';
import type { QuotaKeys } from './redis-keys.ts';
import { auditedDefinitionsOf, defineScripts, definitionsOf } from './scripts.ts';

/** One server, found directly or through Sentinels, or a Redis Cluster. */
export type RedisClient = Redis | Cluster;

declare module 'ioredis' {
  interface RedisCommander<Context> extends Record<AuditedScript, RunAudited<Context>> {
    consumeQuota(numberOfKeys: number, ...keysAndArgs: (string | number)[]): Result<string, Context>;
    readUsage(...keysAndArgs: [...QuotaKeys, ...(string | number)[]]): Result<number[], Context>;
    giveBack(...keysAndArgs: [...QuotaKeys, ...(string | number)[]]): Result<number[], Context>;
    addUsage(reportKey: string, usagePrefix: string, ...args: (string | number)[]): Result<number, Context>;
    addKeyUse(useKey: string, ...args: number[]): Result<null, Context>;
    addFailures(failuresKey: string, ...args: (string | number)[]): Result<null, Context>;
    setBan(banKey: string, ...args: (string | number)[]): Result<null, Context>;
    liftBan(banKey: string, strikesKey: string): Result<number, Context>;
    resetDay(usagePrefix: string, retentionDays: number): Result<number, Context>;
    setFields(hashKey: string, ...args: (string | number)[]): Result<number, Context>;
    changeRecord(numberOfKeys: number, ...keysAndArgs: (string | number)[]): Result<number, Context>;
  }
}

/** Files of the scripts by the method that runs them. The number in a name is that of the keys, unless a call says it. */
export const scriptFiles = {
  consumeQuota: 'consume.lua',
  readUsage: 'read-usage-4.lua',
  giveBack: 'give-back-4.lua',
  addUsage: 'add-usage-2.lua',
  addKeyUse: 'add-key-use-1.lua',
  addFailures: 'add-failures-1.lua',
  setBan: 'set-ban-1.lua',
  liftBan: 'lift-ban-2.lua',
  resetDay: 'reset-day-1.lua',
  setFields: 'set-fields-1.lua',
  changeRecord: 'change-record.lua',
} as const;
const scripts = definitionsOf(scriptFiles);

const auditedFiles = {
  setBanAudited: scriptFiles.setBan,
  liftBanAudited: scriptFiles.liftBan,
  resetDayAudited: scriptFiles.resetDay,
  setFieldsAudited: scriptFiles.setFields,
  changeRecordAudited: scriptFiles.changeRecord,
  removeCustomerAudited: 'remove-customer.lua',
};
const auditedScripts = auditedDefinitionsOf(auditedFiles);

export type AuditedScript = keyof typeof auditedFiles;

/**
 * Runs a script with audited.lua after it, and its keys and arguments after the script's. These are one array, which ioredis
 * flattens: as arguments of a call, those of thousands of plans would overflow the stack.
 */
type RunAudited<Context extends ClientContext> = (
  numberOfKeys: number,
  keysAndArgs: (string | number)[],
) => Result<number | null, Context>;

/** Maximum time that a change of a cluster's slots goes unnoticed. */
const topologyRefreshMs = 1000;
const retryDelayMs = (attempt: number) => Math.min(50 * attempt, 500);

/** One for all connections of the process: that of the console fails for the same reason as that of requests. */
const isLogDue = createLogThrottle();

/**
 * Creates a connection for counting: a command is sent at once or fails at once (in a cluster, as soon as its node is
 * connected), and is never sent twice, since a repeated increment would count a request twice.
 * @param url one of the forms of redis-url.ts. Connects in the background, and reconnects until it is closed
 * @param isBlocking whether commands may wait for some seconds for their reply
 */
export function createRedis(url: string, log: Logger, { isBlocking = false } = {}): RedisClient {
  const address = parseRedisUrl(url);
  if (address === undefined) throw new Error('REDIS_URL was not checked by config.ts');
  const client =
    address.kind === 'cluster' ? createCluster(address, isBlocking) : createSingle(address, isBlocking);
  defineScripts(client, { ...scripts, ...auditedScripts });
  onConnectionFailure(client, (reason) => {
    // Each cause once a minute, and not at each attempt.
    if (isLogDue(reason)) log.warn({ reason }, 'Redis connection failed; retrying');
  });
  return client;
}

/** The servers that accept writes: one, or one for each shard. */
export function mastersOf(redis: RedisClient): Redis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** Options of every connection, to any kind of server. */
function connectionOptions({ username, password, tls }: RedisAddress, isBlocking: boolean) {
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
    // Maximum delay after a server has loaded its data; by default ioredis waits as long as the server estimates.
    maxLoadingRetryTime: 250,
    // Time for the server to close its end after a disconnect.
    disconnectTimeout: 200,
    // A server that vanished without closing the connection is noticed after this time without a reply.
    socketTimeout: isBlocking ? 15_000 : 2000,
    // After a failover the old master replies READONLY: reconnect to find the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

function createSingle(address: RedisAddress, isBlocking: boolean): Redis {
  const [first] = address.hosts;
  return new Redis({
    ...connectionOptions(address, isBlocking),
    ...(address.kind === 'sentinel' ? sentinelOptions(address) : first),
    db: address.database,
    enableAutoPipelining: true,
    // The gate's probe must not queue behind commands that wait for a reply; quotas have batches of their own.
    autoPipeliningIgnoredCommands: ['time', 'evalsha', 'eval'],
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
  });
}

function sentinelOptions({ hosts, masterName, tls, sentinelUsername, sentinelPassword }: RedisAddress) {
  return {
    sentinels: hosts,
    name: masterName,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    sentinelRetryStrategy: retryDelayMs,
    sentinelCommandTimeout: 1000,
  } satisfies RedisOptions;
}

function createCluster(address: RedisAddress, isBlocking: boolean): Cluster {
  return new Cluster(address.hosts, {
    redisOptions: connectionOptions(address, isBlocking),
    // Certificates contain names, and a cluster may announce its nodes by name.
    ...(address.tls ? { dnsLookup: (name, callback) => callback(null, name) } : {}),
    // In a shared pipeline, commands whose slot has moved would fail instead of being redirected.
    enableAutoPipelining: false,
    // Nodes are connected when they are first needed; commands wait for that, within the gate's time limit.
    enableOfflineQueue: true,
    clusterRetryStrategy: retryDelayMs,
    slotsRefreshInterval: topologyRefreshMs,
    slotsRefreshTimeout: topologyRefreshMs / 2,
    // Would send a command again that may have been executed.
    retryDelayOnFailover: 0,
    // The gate decides how long to wait.
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    maxRedirections: 4,
  });
}

/** Calls back with the cause of each failed connection, and not with ioredis' message for one that this process ends. */
export function onConnectionFailure(client: EventEmitter, callback: (cause: string) => void): void {
  const onError = ({ message }: Error) => {
    if (message !== 'Connection is closed.') callback(message);
  };
  client.on('error', onError);
  client.on('node error', onError);
}
