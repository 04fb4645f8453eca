import { mastersOf, type RedisClient } from '../redis/redis-client.ts';
import { errorMessage } from '../runtime/error-message.ts';

/** Less than the connection's own timeout for a reply. */
const waitMs = 1500;
const maxAttempts = 4;

/**
 * - durable: on the disk of each master
 * - unconfirmed: Redis did not confirm it in time
 * - memory_only: Redis keeps no append-only file
 * - unknown: Redis is older than 7.2 and has no WAITAOF
 */
export type Durability = 'durable' | 'unconfirmed' | 'memory_only' | 'unknown';

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
    throw error;
  }
}
