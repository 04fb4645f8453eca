import { errorMessage } from '#runtime/error-message.ts';
import type { Redis } from 'ioredis';
import { infoNumber } from '../redis/info-field.ts';
import { mastersOf, type RedisClient } from '../redis/redis-client.ts';

/** Less than the connection's own timeout for a reply. */
const waitMs = 1500;
const maxAttempts = 4;

/**
 * - durable: on the disk of each master
 * - unconfirmed: Redis did not confirm it in time
 * - memory_only: Redis keeps no append-only file
 * - unknown: Redis is older than 7.2 and has no WAITAOF
 * - not_permitted: the Redis user may not run WAITAOF
 */
export type Durability = 'durable' | 'unconfirmed' | 'memory_only' | 'unknown' | 'not_permitted';

/** Waits until all previous writes are in the append-only file on disk. */
export async function waitForDisk(redis: RedisClient): Promise<Durability> {
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const replies = await Promise.all(
        mastersOf(redis).map((master) => master.call('WAITAOF', '1', '0', String(waitMs))),
      );
      if (replies.every((reply) => Array.isArray(reply) && Number(reply[0]) >= 1)) return 'durable';
    }
    return 'unconfirmed';
  } catch (error) {
    const message = errorMessage(error);
    if (/unknown command/i.test(message)) return 'unknown';
    if (/appendonly is disabled/i.test(message)) return 'memory_only';
    if (message.startsWith('NOPERM')) return 'not_permitted';
    throw error;
  }
}

/** How many of the replicas that are connected to a master have confirmed all previous writes. */
export interface Replication {
  replicas: number;
  confirmed: number;
}

/**
 * Waits until all replicas have all previous writes, also those of other clients that this one has read.
 * @returns undefined if the Redis user may not ask
 */
export async function waitForReplicas(redis: RedisClient): Promise<Replication | undefined> {
  try {
    const all = await Promise.all(mastersOf(redis).map(waitForReplicasOf));
    return {
      replicas: all.reduce((sum, { replicas }) => sum + replicas, 0),
      confirmed: all.reduce((sum, { confirmed }) => sum + confirmed, 0),
    };
  } catch (error) {
    if (errorMessage(error).startsWith('NOPERM')) return undefined;
    throw error;
  }
}

async function waitForReplicasOf(master: Redis): Promise<Replication> {
  const info = await master.info('replication');
  const replicas = infoNumber(info, 'connected_slaves');
  if (replicas === 0) return { replicas, confirmed: 0 };
  const confirmed = await master.wait(replicas, waitMs);
  return { replicas, confirmed: Math.min(confirmed, replicas) };
}
