import type { WindowName } from '../../limits/windows.ts';

/*
 * Names of all Redis keys of the gateway. All that belongs to one customer shares the hash tag {<customer id>}, so that one
 * script can use it together in Redis Cluster: its record, those of its API keys, its counters, and their bans. A key hash is
 * the hexadecimal SHA-256 of the API key.
 */

/** Id of a customer. */
export type CustomerId = `cus_${string}`;

/** Where an API key is: its record and its ban are among what belongs to its customer. */
export interface KeyPlace {
  customerId: CustomerId;
  keyHash: string;
}

/** Nothing that means something in a path, in a pattern of Redis or in a hash tag. */
export const customerIdPattern = /^cus_[\w-]{1,96}$/;

export function isCustomerId(text: string): text is CustomerId {
  return customerIdPattern.test(text);
}

/** A place as gw:key-ids has it. */
export function formatPlace({ customerId, keyHash }: KeyPlace): string {
  return `${customerId}:${keyHash}`;
}

/** @returns undefined for a text that was edited into something else */
export function parsePlace(text: string): KeyPlace | undefined {
  const [, customerId = '', keyHash] = /^(cus_[\w-]{1,96}):([\da-f]{64})$/.exec(text) ?? [];
  return keyHash !== undefined && isCustomerId(customerId) ? { customerId, keyHash } : undefined;
}

/** The queue of events, whose keys share a hash tag. BullMQ names them: gw:{events}:webhooks:… */
export const eventQueue = { prefix: 'gw:{events}', name: 'webhooks' } as const;

export const redisKeys = {
  /** Hash: the record of a customer (keys/records.ts). */
  customer: (customerId: CustomerId) => `gw:customer:{${customerId}}`,
  /** Set: ids of the API keys of a customer. */
  customerKeys: (customerId: CustomerId) => `gw:customer-keys:{${customerId}}`,
  /** Sorted set: ids of all customers by time of creation. */
  customers: 'gw:customers',
  /** String: id of the customer of an API key, which never changes. */
  keyCustomer: (keyHash: string) => `gw:key-customer:${keyHash}`,
  /** Hash: the record of an API key (keys/records.ts). */
  apiKey: ({ customerId, keyHash }: KeyPlace) => `gw:key:{${customerId}}:${keyHash}`,
  /** String with expiry: requests of a window that its first request opens, such as gw:minute:{<customer id>}. */
  openWindow: (customerId: CustomerId, window: WindowName) => `gw:${window}:{${customerId}}`,
  /** String with expiry: present while the key is banned. */
  ban: ({ customerId, keyHash }: KeyPlace) => `gw:ban:{${customerId}}:${keyHash}`,
  /** Hash with expiry: strikes, and the number of bans in a row (consume.lua). */
  strikes: ({ customerId, keyHash }: KeyPlace) => `gw:strikes:{${customerId}}:${keyHash}`,
  /** String with expiry: number of the last report of a process' own counts of a day that was added (usage-reports.ts). */
  dayReport: (customerId: CustomerId, processAndDay: string) =>
    `gw:day-report:{${customerId}}:${processAndDay}`,
  /** Hash with expiry: the last failed requests of a customer, by code (failures.ts). */
  failures: (customerId: CustomerId) => `gw:failures:{${customerId}}`,
  /** String with expiry: last use of a key, and its requests of that day (add-key-use-1.lua). */
  keyUse: ({ customerId, keyHash }: KeyPlace) => `gw:key-use:{${customerId}}:${keyHash}`,
  /** Prefix of the records of use; the scripts append the UTC month. */
  usagePrefix: (customerId: CustomerId) => `gw:usage:{${customerId}}`,
  /** Hash with expiry: use of a customer in one month, which its limits count (usage.lua). @param month UTC month as YYYYMM */
  usageMonth: (customerId: CustomerId, month: string) => `gw:usage:{${customerId}}:${month}`,
  /** Hash with expiry: use of all customers in one month, by day and plan (use-counts.ts). @param month UTC month as YYYYMM */
  usageTotals: (month: string) => `gw:usage:{totals}:${month}`,
  /** Sorted set with expiry: customers of a month by the units that their requests cost (use-counts.ts). */
  usageRanking: (month: string) => `gw:usage:{ranking}:${month}`,
  /** Sorted set: ids of banned keys by the end of the ban in Unix milliseconds. Ended bans are removed. */
  bans: 'gw:bans',
  /** Sorted set with expiry: requests of the busiest customers in ten seconds, and those refused. All share a hash slot, for ZUNION. */
  busy: (slot: number) => `gw:{busy}:${slot}`,
  /** Hash with expiry: traffic of all gateways in a minute (traffic.ts). All share a hash slot, to be read together. */
  traffic: (minute: number) => `gw:{traffic}:${minute * 60}`,
  /** Stream: every change made with the ops command. */
  audit: 'gw:audit',
  /** Hash: webhooks with their secrets by id (stored-webhooks.ts). */
  webhooks: 'gw:webhooks',
  /** Hash: since when a webhook fails, and whether it is disabled (stored-webhooks.ts). */
  webhookStatus: (id: string) => `gw:{events}:status:${id}`,
  /** List with expiry: the last attempts of a webhook. */
  webhookLog: (id: string) => `gw:{events}:log:${id}`,
  /** Hash: minute and day limits of a plan. */
  plan: (name: string) => `gw:plan:${name}`,
  /** Set: the names of all plans. */
  planNames: 'gw:plans',
  /** Hash: when and for how long keys are banned. */
  banPolicy: 'gw:ban-policy',
  /** Hash: how long the use of keys is kept (policies.ts). */
  usagePolicy: 'gw:usage-policy',
  /** Hash: id of an API key to its place (formatPlace). */
  apiKeyIds: 'gw:key-ids',
  /** Sorted set: ids of all API keys by time of creation. */
  apiKeysByCreation: 'gw:keys',
  /** Hash with expiry: what each process says of itself and enforces, by its id (process-statuses.ts). */
  processStatuses: 'gw:status',
  /** Set: Redis keys of all settings that were set once, whose defaults are not written again. */
  settings: 'gw:settings',
  /** String: prefix of the API keys (key-prefix.ts). */
  keyPrefix: 'gw:key-prefix',
  /** String: when this Redis was set up. Without it, Redis came back empty (set-up-marker.ts). */
  setUp: 'gw:set-up',
  /** String with expiry: whom a link to the console or the portal is for (expiring-secrets.ts). @param codeHash hexadecimal SHA-256 */
  linkCode: (codeHash: string) => `gw:link:${codeHash}`,
  /** Hash with expiry: SHA-256 of each session's token to the session (console-sessions.ts). */
  consoleSessions: 'gw:console:sessions',
  /** Hash: SHA-256 of each token of the operators' API to its record, and its last use (api-tokens.ts). Not gw:a…: that is the audit log's. */
  apiTokens: 'gw:bearer-tokens',
  /** String with expiry: a request with an Idempotency-Key, and its response (run-once.ts). */
  idempotency: (id: string) => `gw:idempotency:${id}`,
  /** String with expiry: a session of the portal. @param tokenHash hexadecimal SHA-256 */
  portalSession: (tokenHash: string) => `gw:portal:session:${tokenHash}`,
  /** Prefix of the per-address counters of requests without a valid key. */
  anonymousPrefix: 'gw:anonymous',
} as const;

/** The keys of consume.lua and read-usage-4.lua, in their order. */
export type QuotaKeys = [customer: string, usagePrefix: string, ban: string, strikes: string];

export function quotaKeys(place: KeyPlace): QuotaKeys {
  return [
    redisKeys.customer(place.customerId),
    redisKeys.usagePrefix(place.customerId),
    redisKeys.ban(place),
    redisKeys.strikes(place),
  ];
}
