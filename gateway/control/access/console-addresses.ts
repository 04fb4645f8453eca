import { z } from 'zod';
import { parseJson } from '../../platform/redis/parse-json.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import type { ReadingSession } from '../session.ts';

/** Where the console of a running gateway is. */
export interface ConsoleAddress {
  /** Scheme, host and port, as a browser on the machine of the gateway opens it, or ADMIN_URL. */
  origin: string;
  /** Name of the gateway's machine. */
  machine: string;
}

const addressSchema = z.object({
  origin: z.string().regex(/^https?:\/\/[^/\s\p{Cc}]+$/u),
  machine: z.string(),
});

/** A gateway that was killed is no longer listed after this time. */
const keptMs = 30_000;

/** Announces a console. To be repeated every ten seconds. */
export async function announceConsole(
  { redis, now }: ReadingSession,
  address: ConsoleAddress,
): Promise<void> {
  await redis.zadd(redisKeys.consoleAddresses, now(), JSON.stringify(address));
  await redis.zremrangebyscore(redisKeys.consoleAddresses, '-inf', now() - keptMs);
  await redis.pexpire(redisKeys.consoleAddresses, keptMs);
}

export async function withdrawConsole(redis: RedisClient, address: ConsoleAddress): Promise<void> {
  await redis.zrem(redisKeys.consoleAddresses, JSON.stringify(address));
}

/**
 * Origins of the running consoles, each once. Any of them serves the whole fleet.
 * @param machine its gateways come first: a console on loopback can be opened there only
 */
export async function findConsoleOrigins({ redis, now }: ReadingSession, machine: string): Promise<string[]> {
  const members = await redis.zrangebyscore(redisKeys.consoleAddresses, now() - keptMs, '+inf');
  const addresses = members.flatMap((member) => addressSchema.safeParse(parseJson(member)).data ?? []);
  const own = addresses.filter((address) => address.machine === machine);
  return [...new Set([...own, ...addresses].map(({ origin }) => origin))];
}
