/*
 * Every Redis key of the gateway is named here. All keys of one API key share the hash tag {<sha256>}, so that
 * one script can use them together in Redis Cluster.
 */

/** Of the counters of the busiest keys, which share a hash tag of their own. */
export const busyPrefix = 'gw:{busy}:';

export const redisKeys = {
  /** Hash: the record of an API key (api-key-record.ts). */
  apiKey: (sha: string) => `gw:key:{${sha}}`,
  /** String with expiry: requests of the open minute window. */
  minute: (sha: string) => `gw:minute:{${sha}}`,
  /** Prefix of the day counters; the script appends the UTC date: gw:day:{<sha>}:20261120. */
  dayPrefix: (sha: string) => `gw:day:{${sha}}`,
  /** @param day UTC date as YYYYMMDD. */
  day: (sha: string, day: string) => `gw:day:{${sha}}:${day}`,
  /** String with expiry: present while the key is banned. */
  ban: (sha: string) => `gw:ban:{${sha}}`,
  /** Hash with expiry: recent violations and the number of bans in a row. */
  violations: (sha: string) => `gw:violations:{${sha}}`,
  /** String with expiry: marks one report of locally served requests as added to the day counter. */
  dayReport: (sha: string, reportId: string) => `gw:day-report:{${sha}}:${reportId}`,
  /** Sorted set: ids of banned keys by the end of the ban in Unix milliseconds; those that ended are removed. */
  bans: 'gw:bans',
  /** Sorted set with expiry: requests of the busiest keys in ten seconds; all share a slot, to be added up. */
  busy: (slot: number) => `${busyPrefix}${slot}`,
  /** Of those, the requests that were refused. */
  busyRefused: (slot: number) => `${busyPrefix}${slot}:refused`,
  /** Stream: every change that was made with the ops command. */
  audit: 'gw:audit',
  /** Hash: minute and day limits of a plan. */
  plan: (name: string) => `gw:plan:${name}`,
  /** Set: the names of all plans. */
  planNames: 'gw:plans',
  /** Hash: when and for how long keys are banned. */
  banPolicy: 'gw:ban-policy',
  /** Hash: id of an API key to its SHA-256. */
  apiKeyIds: 'gw:key-ids',
  /** Sorted set: ids of all API keys by time of creation. */
  apiKeysByCreation: 'gw:keys',
  /** Sorted set with expiry: live gateway instances by the time they were last seen. */
  instances: 'gw:instances',
  /** Prefix of the per-address counters of requests without a valid key. */
  anonymousPrefix: 'gw:anonymous',
} as const;

/** The hash of an API key by the key of its record; undefined for any other key. */
export function shaOfApiKey(key: string): string | undefined {
  const [, sha] = /^gw:key:\{([\da-f]{64})\}$/.exec(key) ?? [];
  return sha;
}

/** The keys of consume.lua and read-usage-5.lua, in their order. */
export type QuotaKeys = [record: string, minute: string, dayPrefix: string, ban: string, violations: string];

export function quotaKeys(sha: string): QuotaKeys {
  return [
    redisKeys.apiKey(sha),
    redisKeys.minute(sha),
    redisKeys.dayPrefix(sha),
    redisKeys.ban(sha),
    redisKeys.violations(sha),
  ];
}
