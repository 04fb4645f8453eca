import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';

/*
 * The prefix of API keys, which secret scanners know them by. A process has one, set once at its start: keys are made,
 * checked and redacted by functions that are called from everywhere, and one that was called without the prefix would let
 * keys through.
 */

/** Prefix of an API whose services file names no other. */
export const defaultKeyPrefix = 'api_';

let prefix = defaultKeyPrefix;

export function keyPrefix(): string {
  return prefix;
}

/** Sets the prefix of this process, before it makes, checks or redacts any key. */
export function setKeyPrefix(value: string): void {
  prefix = value;
}

/** Not key_, with which the ids of keys begin. */
export const keyPrefixPattern = /^(?!key_$)[a-z0-9]{1,15}_$/;
export const keyPrefixIssue =
  'is not a prefix such as box_: at most 16 lower-case letters and digits, of which the last is _, and not key_';

/**
 * Creates a pattern of what looks like an API key, for redaction. It matches keys with the default prefix, too: they may
 * have been issued before another prefix was set.
 * @param rest what follows the prefix
 */
export function keyPattern(rest: RegExp): () => RegExp {
  let made: { prefix: string; pattern: RegExp } | undefined;
  return () => {
    if (made?.prefix !== prefix) {
      const prefixes = [...new Set([prefix, defaultKeyPrefix])].join('|');
      made = { prefix, pattern: new RegExp(`(?:${prefixes})${rest.source}`, rest.flags) };
    }
    return made.pattern;
  };
}

/** Writes the prefix of this gateway's API keys, so that commands on any machine make and redact keys with it. */
export async function publishKeyPrefix(redis: RedisClient): Promise<void> {
  await redis.set(redisKeys.keyPrefix, keyPrefix());
}

/** @returns the prefix as it was written, perhaps by hand; null if no gateway has written one */
export const readKeyPrefix = (redis: RedisClient): Promise<string | null> => redis.get(redisKeys.keyPrefix);
