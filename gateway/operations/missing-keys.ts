import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { indexSizes } from './api-key-index.ts';
import { findUnindexed } from './scan-records.ts';
import type { ChangingSession } from './session.ts';

/** Longer than a key that is being issued or imported is in only one part of the index. */
const issueMs = 250;

/**
 * Detects that the index lacks keys.
 * @param sample whether to look at some records even if the index is not empty
 * @returns a description; undefined if nothing is missing
 */
export async function detectMissingKeys(redis: RedisClient, sample = false): Promise<string | undefined> {
  if ((await compareIndex(redis, sample)) === undefined) return undefined;
  await sleep(issueMs);
  return compareIndex(redis, sample);
}

async function compareIndex(redis: RedisClient, sample: boolean): Promise<string | undefined> {
  const { apiKeysByCreation, apiKeyIds } = redisKeys;
  const { listed, hashed } = await indexSizes(redis);
  if (listed !== hashed) return `${apiKeysByCreation} has ${listed} ids and ${apiKeyIds} has ${hashed}`;
  const unindexed = sample || listed === 0 ? await findUnindexed(redis) : undefined;
  return unindexed === undefined ? undefined : `${apiKeyIds} lacks ${unindexed}, whose record exists`;
}

/** Says that API keys which Redis has lost are meant to be gone: gateways that served them refuse them as unknown. */
export async function acceptLoss({ redis, audit, now }: ChangingSession): Promise<{ acceptedAt: string }> {
  const atMs = now();
  const after = { acceptedAt: new Date(atMs).toISOString() };
  await audit({ action: 'keys.accept-loss', target: redisKeys.lossAccepted, before: null, after });
  await redis.set(redisKeys.lossAccepted, atMs);
  return after;
}
