import { hash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';
import { isUnknownScript } from './redis-errors.ts';

export interface ScriptDefinition {
  lua: string;
  /** Undefined if the number is the first argument of each call. */
  numberOfKeys?: number;
}

/**
 * Adds a method for each script. Not defineCommand of ioredis, which sends only the hash again if Redis does not know it,
 * since another call has sent the text: between the two, the script cache may have been emptied once more.
 */
export function defineScripts(
  redis: Redis | Cluster,
  scripts: Readonly<Record<string, ScriptDefinition>>,
): void {
  for (const [name, { lua, numberOfKeys }] of Object.entries(scripts)) {
    const sha1 = hash('sha1', lua, 'hex');
    const run = async (...args: (string | number)[]): Promise<unknown> => {
      const [keys = 0, ...rest] = numberOfKeys === undefined ? args : [numberOfKeys, ...args];
      try {
        return await redis.evalsha(sha1, keys, ...rest);
      } catch (error) {
        // It was not executed, so nothing is counted twice. With its text, a script is never unknown.
        if (isUnknownScript(error)) return redis.eval(lua, keys, ...rest);
        throw error;
      }
    };
    Object.assign(redis, { [name]: run });
  }
}

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
  /** A value has another type than the gateway writes. */
  wrongType: 4,
} as const;
