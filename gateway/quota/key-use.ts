import { z } from 'zod';
import type { RedisClient } from '../redis/redis-client.ts';
import { unlessWrongType } from '../redis/redis-errors.ts';
import { redisKeys, type KeyPlace } from '../redis/redis-keys.ts';
import { addToSlot, slotMs } from './hot-keys.ts';
import { createWaitingCounts } from './waiting-counts.ts';

/** Requests of one address with a key that was revoked or has expired, or whose customer is suspended. */
export const refusedUseSchema = z.object({
  address: z.string().describe('An IPv4 address or an IPv6 network of 56 bits'),
  from: z.iso.datetime().describe('Time of the first one'),
  to: z.iso.datetime().describe('Time of the last one'),
  requests: z.int(),
});

export type RefusedUse = z.infer<typeof refusedUseSchema>;

/** Use of a valid key, some seconds old. */
export const keyUseSchema = z
  .object({
    served: z.int(),
    refused: z.int().describe('Requests that were answered with 429'),
    addresses: z
      .array(
        refusedUseSchema.extend({
          agent: z.string().describe('Product that the User-Agent names, such as curl'),
          gateway: z.string().describe('Host of the gateway'),
        }),
      )
      .describe('Who uses it, the latest first, at most 10'),
  })
  .meta({ id: 'KeyUse' });

export type KeyUse = z.infer<typeof keyUseSchema>;

/** A request with a key. */
interface UseOfKey {
  /** Address or IPv6 network of the client. */
  address: string;
  /** Header of the request. Of a valid key only. */
  userAgent?: string | undefined;
  refused?: boolean;
}

export interface KeyUseReports {
  /** Counts one request. */
  count(key: KeyPlace & { id: string }, use: UseOfKey): void;
  /** One request less was served: the response is a 304, which costs nothing. */
  takeBackServed(key: KeyPlace & { id: string }): void;
  /** Adds counts to those in Redis. Never rejects: what it does not confirm is lost. @param all also what could wait */
  report(all?: boolean): Promise<void>;
}

interface KeyUseDependencies {
  redis: RedisClient;
  now: () => number;
}

/** Addresses of a key that are kept; the one seen longest ago is forgotten. */
const maxAddresses = 10;
/** How long it is kept of a record without an expiry. */
const keptMs = 400 * 86_400_000;

interface Use {
  fromMs: number;
  toMs: number;
  requests: number;
  /** That of the last request. */
  userAgent: string | undefined;
}

interface CountedKey {
  id: string;
  place: KeyPlace;
  served: number;
  refused: number;
  addresses: Map<string, Use>;
}

interface ReportsOptions extends KeyUseDependencies {
  redisKey: (place: KeyPlace) => string;
  /** Keys that wait to be reported. Further ones are not counted, so that memory stays bounded. */
  maxKeys: number;
  /** Keys of one report: Redis has other things to do. The others wait for the next one. */
  maxReported: number;
  /** What follows the counts of an address. */
  describe: (use: Use) => string;
  onReport?: (keys: readonly CountedKey[]) => Promise<unknown>;
}

function createReports(options: ReportsOptions): KeyUseReports {
  const { redis, now, redisKey, maxKeys, maxReported, describe, onReport } = options;
  const keys = createWaitingCounts<CountedKey>({
    redis,
    max: maxKeys,
    maxReported,
    onReport,
    send: ({ place, served, refused, addresses }) =>
      redis.addKeyUse(
        redisKeys.apiKey(place),
        redisKey(place),
        maxAddresses,
        keptMs,
        served,
        refused,
        ...Array.from(addresses.entries()).flatMap(([address, use]) => [
          address,
          use.fromMs,
          use.toMs,
          use.requests,
          describe(use),
        ]),
      ),
  });

  function counted({ id, customerId, keyHash }: KeyPlace & { id: string }): CountedKey | undefined {
    return keys.get(keyHash, () => ({
      id,
      place: { customerId, keyHash },
      served: 0,
      refused: 0,
      addresses: new Map(),
    }));
  }

  return {
    takeBackServed(place) {
      const key = counted(place);
      if (key !== undefined) key.served -= 1;
    },
    count(place, { address, userAgent, refused = false }) {
      const key = counted(place);
      if (key === undefined) return;
      if (refused) key.refused += 1;
      else key.served += 1;
      const nowMs = Math.floor(now());
      let use = key.addresses.get(address);
      if (use === undefined) {
        if (key.addresses.size >= maxAddresses) forgetOldest(key.addresses);
        use = { fromMs: nowMs, toMs: nowMs, requests: 0, userAgent };
        key.addresses.set(address, use);
      }
      use.toMs = nowMs;
      use.requests += 1;
      use.userAgent = userAgent;
    },
    report: keys.report,
  };
}

function forgetOldest(addresses: Map<string, Use>): void {
  const [oldest] = Array.from(addresses).toSorted(([, one], [, other]) => one.toMs - other.toMs);
  if (oldest !== undefined) addresses.delete(oldest[0]);
}

/** Counts who uses which valid key, without a Redis command for each request. @param gateway host of this process */
export function createKeyUseReports({
  gateway,
  ...dependencies
}: KeyUseDependencies & { gateway: string }): KeyUseReports {
  const place = gateway.replaceAll(/\s/g, '-');
  return createReports({
    ...dependencies,
    redisKey: redisKeys.keyUse,
    maxKeys: 100_000,
    maxReported: 2000,
    describe: ({ userAgent }) => ` ${agentOf(userAgent)} ${place}`,
  });
}

const maxEndedKeys = 1000;
/** Keys of a report that are named among those in use now. */
const maxNamed = 10;

/** The same for keys that have ended. */
export function createRefusedUseReports(dependencies: KeyUseDependencies): KeyUseReports {
  const { redis, now } = dependencies;
  return createReports({
    ...dependencies,
    redisKey: redisKeys.refusedUse,
    maxKeys: maxEndedKeys,
    maxReported: maxEndedKeys,
    describe: () => '',
    async onReport(keys) {
      const busiest = keys
        .map(({ id, addresses }): [string, number] => [
          id,
          Array.from(addresses.values()).reduce((sum, { requests }) => sum + requests, 0),
        ])
        .toSorted(([, one], [, other]) => other - one)
        .slice(0, maxNamed);
      if (busiest.length === 0) return;
      await addToSlot(redis, redisKeys.busyEnded(Math.floor(now() / slotMs)), busiest);
    },
  });
}

/** Characters of a User-Agent in which browsers name themselves. */
const maxRead = 500;
const browsers = /\b(Edg|OPR|Firefox|Chrome|Safari)\//;

/** Product that a User-Agent names first (RFC 9110 section 10.1.5), or the browser, in at most 40 characters. */
export function agentOf(userAgent = ''): string {
  if (userAgent.startsWith('Mozilla/')) {
    const [, browser] = browsers.exec(userAgent.slice(0, maxRead)) ?? [];
    if (browser !== undefined) return browser;
  }
  return /^[\w.+!#$%&'*^`|~-]{1,40}/.exec(userAgent)?.[0] ?? 'unknown';
}

/** Reads who went on with a key after its end, the latest first. What was edited by hand is left out. */
export async function readRefusedUse(redis: RedisClient, place: KeyPlace): Promise<RefusedUse[]> {
  return addressesIn(await unlessWrongType(redis.hgetall(redisKeys.refusedUse(place)), {})).map(
    ({ use }) => use,
  );
}

/** Reads who uses a key. Null if nobody has, as far as it is kept. What was edited by hand is left out. */
export async function readKeyUse(redis: RedisClient, place: KeyPlace): Promise<KeyUse | null> {
  const fields: Readonly<Record<string, string>> = await unlessWrongType(
    redis.hgetall(redisKeys.keyUse(place)),
    {},
  );
  const { served, refused, ...addresses } = fields;
  const used = addressesIn(addresses).map(({ use, by }) => {
    const [agent = '', gateway = ''] = by.trim().split(' ');
    return Object.assign(use, { agent, gateway });
  });
  return used.length === 0 ? null : { served: countOf(served), refused: countOf(refused), addresses: used };
}

function addressesIn(fields: Readonly<Record<string, string>>): { use: RefusedUse; by: string }[] {
  return Object.entries(fields)
    .flatMap(([address, text]) => {
      const [, from, to, requests, by = ''] = /^(\d{1,15}) (\d{1,15}) (\d{1,15})(.*)$/.exec(text) ?? [];
      if (requests === undefined) return [];
      return [{ use: { address, from: isoTime(from), to: isoTime(to), requests: Number(requests) }, by }];
    })
    .toSorted((one, other) => other.use.to.localeCompare(one.use.to));
}

const isoTime = (ms: string | undefined) => new Date(Number(ms)).toISOString();
const countOf = (text: string | undefined) => (/^\d{1,15}$/.test(text ?? '') ? Number(text) : 0);
