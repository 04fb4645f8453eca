import type { WindowName } from '../limits/windows.ts';

/*
 * Names of all Redis keys of the gateway. All keys of one API key share the hash tag {<key hash>}, so that one script can
 * use them together in Redis Cluster. A key hash is the hexadecimal SHA-256 of the API key.
 */

/** Prefix of the counters of the busiest keys, which share a hash tag of their own. */
export const busyPrefix = 'gw:{busy}:';

export const redisKeys = {
  /** Hash: the record of an API key (api-key-record.ts). */
  apiKey: (keyHash: string) => `gw:key:{${keyHash}}`,
  /** String with expiry: requests of a window that its first request opens, such as gw:minute:{<key hash>}. */
  openWindow: (keyHash: string, window: WindowName) => `gw:${window}:{${keyHash}}`,
  /** Prefix of the day counters; the script appends the UTC date: gw:day:{<key hash>}:20261120. */
  dayPrefix: (keyHash: string) => `gw:day:{${keyHash}}`,
  /** @param day UTC date as YYYYMMDD */
  day: (keyHash: string, day: string) => `gw:day:{${keyHash}}:${day}`,
  /** String with expiry: present while the key is banned. */
  ban: (keyHash: string) => `gw:ban:{${keyHash}}`,
  /** Hash with expiry: strikes, and the number of bans in a row (consume.lua). */
  strikes: (keyHash: string) => `gw:strikes:{${keyHash}}`,
  /** Hash with expiry: what the trial limits of the key would have refused (trial.lua). */
  trial: (keyHash: string) => `gw:trial:{${keyHash}}`,
  /** String with expiry: number of the last report of a process' own counts that was added (usage-reports.ts). */
  dayReport: (keyHash: string, processId: string) => `gw:day-report:{${keyHash}}:${processId}`,
  /** String with expiry: runs of refused requests of a key, newest first (refusals.lua). */
  refusals: (keyHash: string) => `gw:refusals:{${keyHash}}`,
  /** Hash with expiry: addresses that went on with a key after its end (add-refused-use-2.lua). */
  refusedUse: (keyHash: string) => `gw:refused-use:{${keyHash}}`,
  /** Hash with expiry: use of a key in one month (usage.lua). @param month UTC month as YYYYMM */
  usageMonth: (keyHash: string, month: string) => `gw:usage:{${keyHash}}:${month}`,
  /** Sorted set: ids of banned keys by the end of the ban in Unix milliseconds. Ended bans are removed. */
  bans: 'gw:bans',
  /** Sorted set with expiry: requests of the busiest keys in ten seconds. All share a hash slot, for ZUNION. */
  busy: (slot: number) => `${busyPrefix}${slot}`,
  /** The same for refused requests. */
  busyRefused: (slot: number) => `${busyPrefix}${slot}:refused`,
  /** HyperLogLog with expiry: ids of the keys with requests in a minute, or with refused ones. */
  keysInUse: (kind: 'active' | 'refused', plan: string, minute: number) =>
    `${busyPrefix}keys:${kind}:${plan}:${minute}`,
  /** The same for requests of keys after their end. */
  busyEnded: (slot: number) => `${busyPrefix}${slot}:ended`,
  /** The same for refused requests of addresses, by why they were refused. */
  busyAddresses: (slot: number) => `${busyPrefix}${slot}:addresses`,
  /** Hash with expiry: traffic of all gateways from a time on. All share a hash slot, for add-traffic.lua. */
  trafficBucket: (resolution: '10s' | '1m', startMs: number) =>
    `gw:{traffic}:${resolution}:${Math.floor(startMs / 1000)}`,
  /** String with expiry: number of the last report of traffic that a process has added. */
  trafficReporter: (id: string) => `gw:{traffic}:reporter:${id}`,
  /** Stream: every change made with the ops command. */
  audit: 'gw:audit',
  /** Hash: minute and day limits of a plan. */
  plan: (name: string) => `gw:plan:${name}`,
  /** Set: the names of all plans. */
  planNames: 'gw:plans',
  /** Hash: when and for how long keys are banned. */
  banPolicy: 'gw:ban-policy',
  /** Hash: blocked addresses and networks to the end and the reason of the block (address-blocks.ts). */
  addressBlocks: 'gw:blocked-addresses',
  /** Hash: how long the use of keys is kept (usage-policy.ts). */
  usagePolicy: 'gw:usage-policy',
  /** Hash: id of an API key to its SHA-256. */
  apiKeyIds: 'gw:key-ids',
  /** Sorted set: ids of all API keys by time of creation. */
  apiKeysByCreation: 'gw:keys',
  /** Sorted set with expiry: live gateway instances by the time they were last seen. */
  instances: 'gw:instances',
  /** String with expiry: the settings that an instance enforces (enforced-settings.ts). */
  instance: (id: string) => `gw:instance:${id}`,
  /** String with expiry: request of `ops services reload`. In the hash slot of `instances`, for announce-2.lua. */
  reload: 'gw:reload:{gw:instances}',
  /** Hash with expiry: what each process says of itself, by its id (process-statuses.ts). */
  processStatuses: 'gw:status',
  /** Set: Redis keys of all settings that were set once, whose defaults are not written again. */
  settings: 'gw:settings',
  /** String: prefix of the API keys, unless it is the default one (published-key-prefix.ts). */
  keyPrefix: 'gw:key-prefix',
  /** String: Unix ms at which an operator said that lost API keys are meant to be gone (lost-keys.ts). */
  lossAccepted: 'gw:loss-accepted',
  /** String with expiry: present while somebody writes the defaults (seed-settings.ts). */
  seeding: 'gw:seeding',
  /** String with expiry: whom a link to the console is for (console-codes.ts). @param codeHash hexadecimal SHA-256 */
  consoleCode: (codeHash: string) => `gw:console:code:${codeHash}`,
  /** String with expiry: the link that a reader has made, whose Redis user can write this key only (console-codes.ts). */
  consoleReader: (reader: string) => `gw:console:reader:${reader}`,
  /** Hash with expiry: SHA-256 of each session's token to the session (console-sessions.ts). */
  consoleSessions: 'gw:console:sessions',
  /** Hash with expiry: SHA-256 of each session's token to the Unix milliseconds at which it was last used. */
  consoleSeen: 'gw:console:seen',
  /** Sorted set with expiry: addresses of the running consoles by the time they were last announced. */
  consoleAddresses: 'gw:console:addresses',
  /** Prefix of the per-address counters of requests without a valid key. */
  anonymousPrefix: 'gw:anonymous',
} as const;

/** @returns the key hash in the name of a record's Redis key; undefined for any other key */
export function keyHashOf(key: string): string | undefined {
  const [, keyHash] = /^gw:key:\{([\da-f]{64})\}$/.exec(key) ?? [];
  return keyHash;
}

/** @returns the key hash in the name of a ban's Redis key; undefined for any other key */
export function bannedKeyHashOf(key: string): string | undefined {
  const [, keyHash] = /^gw:ban:\{([\da-f]{64})\}$/.exec(key) ?? [];
  return keyHash;
}

/** Pattern for SCAN: day counters and months of use of all keys, and the few other names that begin alike. */
export const usagePattern = 'gw:[du]*:{*}:*';

/** A part of the name of a Redis key that holds use: a month, or one day. Undefined for any other key. */
export interface UsageKeyName {
  keyHash: string;
  year: number;
  /** 1 to 12. */
  month: number;
  /** Of the month, from 1; undefined in the name of a month's record. */
  day: number | undefined;
}

export function parseUsageKey(key: string): UsageKeyName | undefined {
  const [, keyHash, year, month, day] =
    /^gw:(?:usage|day):\{([\da-f]{64})\}:(\d{4})(\d\d)(\d\d)?$/.exec(key) ?? [];
  if (keyHash === undefined) return undefined;
  return { keyHash, year: Number(year), month: Number(month), day: day === undefined ? day : Number(day) };
}

/** The keys of consume.lua and read-usage-4.lua, in their order. */
export type QuotaKeys = [record: string, dayPrefix: string, ban: string, strikes: string];

export function quotaKeys(keyHash: string): QuotaKeys {
  return [
    redisKeys.apiKey(keyHash),
    redisKeys.dayPrefix(keyHash),
    redisKeys.ban(keyHash),
    redisKeys.strikes(keyHash),
  ];
}
