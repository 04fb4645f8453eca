/**
 * First element of what consume.lua and read-usage-4.lua return for a request. The scripts get this table as the Lua
 * table `outcome` (redis-client.ts).
 */
export const scriptOutcome = {
  /** Over a limit; not counted. */
  limited: 0,
  /** Counted in both windows, or read. */
  allowed: 1,
  /** The key is banned; nothing was counted. */
  banned: 2,
  /** The record's rev is not the one that the caller knows; nothing was counted. */
  stale: 3,
  /** The record can't be read; an error message follows, and nothing was counted. */
  invalidRecord: 4,
} as const;
