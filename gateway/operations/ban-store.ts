import { parseApiKeyRecord } from '../api-keys/api-key-record.ts';
import { indexBan } from '../quota/ban-index.ts';
import { consecutiveBan } from '../quota/ban-reason.ts';
import type { AuditLog } from '../redis/record-change.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { bannedKeyHashOf, redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import { ignoreInvalid, InvalidOperation } from './invalid-operation.ts';
import {
  countRedisKeys,
  scanRedisKeys,
  scanRedisKeysFrom,
  type ScanPart,
  type ScanProgress,
} from './scan-redis-keys.ts';
import { readRetentionDays } from './usage-retention-store.ts';

export interface ActiveBan {
  /** Id of the API key. */
  id: string;
  name: string;
  plan: string;
  /** What led to the ban: refused requests, or the reason that an operator gave. */
  reason: string;
  /** ISO 8601 in UTC; empty for a ban without an end, which was set by hand. */
  endsAt: string;
}

export interface BanStore {
  /**
   * All bans in pages; memory is used for the ids of banned keys only. First those that gateways have observed or operators have added, soonest to
   * expire first; then those that only the ban itself tells of, such as one that was made with redis-cli, for which all
   * Redis keys are scanned.
   */
  list(onProgress?: (progress: ScanProgress) => void): AsyncGenerator<ActiveBan[]>;
  /**
   * A page of the bans that gateways have observed or operators have added, soonest to expire first. A ban that was made
   * with redis-cli is not among them.
   * @param after `next` of the page before
   */
  page(after: string | undefined, count: number): Promise<{ bans: ActiveBan[]; next: string | undefined }>;
  /**
   * Looks for bans that `page` does not have, in a part of the Redis keys.
   * @param cursor `next` of the part before
   */
  scan(cursor: string | undefined): Promise<BanScan>;
  /** @returns undefined for a key that is not banned */
  find(keyHash: string): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined>;
  /**
   * Bans a key, replacing any other ban. In force from its next request on.
   * @throws InvalidOperation if there is no such key
   */
  add(id: string, durationMs: number, reason: string): Promise<ActiveBan>;
  /**
   * Ends a ban within a second, and forgets the strikes that led to it.
   * @throws InvalidOperation if there is no such key, or it is not banned
   */
  lift(id: string): Promise<ActiveBan>;
}

/** A part of a scan for bans. */
export interface BanScan extends Pick<ScanPart, 'next' | 'scanned'> {
  bans: ActiveBan[];
  /** Redis keys there are now. */
  total: number;
}

const pageSize = 500;
/** Redis keys of a part of a scan, in thousands: some 50 ms. A part with many bans ends sooner. */
const scanPages = 50;
const maxBansOfPart = 500;
/** Keys that are read at once: so few that requests, which this process may serve as well, do not wait noticeably. */
const batchSize = 100;

interface BanStoreDependencies {
  redis: RedisClient;
  keys: Pick<ApiKeyStore, 'show'>;
  audit: AuditLog;
  now: () => number;
}

export function createBanStore({ redis, keys, audit, now }: BanStoreDependencies): BanStore {
  async function find(keyHash: string): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined> {
    const [expiresInMs, value, [recorded, banMs]] = await Promise.all([
      redis.pttl(redisKeys.ban(keyHash)),
      redis.get(redisKeys.ban(keyHash)).catch(() => 'not a text'),
      redis.hmget(redisKeys.strikes(keyHash), 'ban', 'banMs').catch(() => []),
    ]);
    if (expiresInMs === -2 || value === null) return undefined;
    // The expiry exceeds the length of the ban if Redis' clock was set back (bans.lua).
    const leftMs = recorded === value ? Math.min(expiresInMs, Number(banMs)) : expiresInMs;
    // Set by hand without an expiry. The key's next request adds one.
    const endsAt = leftMs < 0 ? '' : new Date(now() + leftMs).toISOString();
    return { reason: describeBan(value), endsAt };
  }

  async function describe(id: string) {
    const { keyHash, record } = await keys.show(id);
    const found = await find(keyHash);
    const { name, plan } = record;
    const key = { id, name, plan };
    const ban: ActiveBan | undefined = found === undefined ? undefined : { ...key, ...found };
    return { keyHash, key, ban };
  }

  /** The id comes from the record, since the indexes may lack it. */
  async function describeByHash(keyHash: string): Promise<ActiveBan | undefined> {
    const parsed = parseApiKeyRecord(await redis.hgetall(redisKeys.apiKey(keyHash)).catch(() => ({})));
    if (parsed.outcome !== 'record') return undefined;
    const { id, name, plan } = parsed.record;
    const found = await find(keyHash);
    return found === undefined ? undefined : { id, name, plan, ...found };
  }

  async function isListed(keyHash: string): Promise<boolean> {
    const id = await redis.hget(redisKeys.apiKey(keyHash), 'id').catch(() => null);
    return id !== null && (await redis.zscore(redisKeys.bans, id)) !== null;
  }

  /** The key before the page may have been removed from the index since, for its ban has ended. */
  async function rankAfter(cursor: string): Promise<number> {
    const separator = cursor.indexOf(':');
    const rank = await redis.zrank(redisKeys.bans, cursor.slice(separator + 1));
    return rank === null ? redis.zcount(redisKeys.bans, '-inf', `(${cursor.slice(0, separator)}`) : rank + 1;
  }

  return {
    find,
    async *list(onProgress) {
      const listed = new Set<string>();
      for (let start = 0; ; start += pageSize) {
        const ids = await redis.zrange(redisKeys.bans, String(start), String(start + pageSize - 1));
        if (ids.length === 0) break;
        // A key that is gone, or whose record is invalid, is refused for that.
        yield unlisted(await Promise.all(ids.map(async (id) => (await ignoreInvalid(describe(id)))?.ban)));
      }
      for await (const names of scanRedisKeys(redis, redisKeys.ban('*'), onProgress)) {
        const keyHashes = names.flatMap((name) => bannedKeyHashOf(name) ?? []);
        yield unlisted(await Promise.all(keyHashes.map(describeByHash)));
      }

      function unlisted(bans: (ActiveBan | undefined)[]): ActiveBan[] {
        // A ban that was lifted by hand stays in the index until its end (indexBan).
        const active = bans.filter((ban) => ban !== undefined).filter(({ id }) => !listed.has(id));
        for (const { id } of active) listed.add(id);
        return active;
      }
    },
    async page(after, count) {
      const start = after === undefined ? 0 : await rankAfter(after);
      const entries = scoredMembers(
        await redis.zrange(redisKeys.bans, String(start), String(start + count - 1), 'WITHSCORES'),
      );
      const found = await Promise.all(entries.map(async ([id]) => (await ignoreInvalid(describe(id)))?.ban));
      const last = entries.at(-1);
      return {
        bans: found.filter((ban) => ban !== undefined),
        next: last !== undefined && entries.length === count ? `${last[1]}:${last[0]}` : undefined,
      };
    },
    async scan(cursor) {
      const [{ names, next, scanned }, total] = await Promise.all([
        scanRedisKeysFrom(redis, redisKeys.ban('*'), { cursor, pages: scanPages, enough: maxBansOfPart }),
        countRedisKeys(redis),
      ]);
      const keyHashes = [...new Set(names.flatMap((name) => bannedKeyHashOf(name) ?? []))];
      const bans: ActiveBan[] = [];
      for (let start = 0; start < keyHashes.length; start += batchSize) {
        const found = await Promise.all(
          keyHashes
            .slice(start, start + batchSize)
            .map(async (keyHash) => ((await isListed(keyHash)) ? undefined : describeByHash(keyHash))),
        );
        bans.push(...found.filter((ban) => ban !== undefined));
      }
      return { bans, next, scanned, total };
    },
    async add(id, durationMs, reason) {
      const { keyHash, key, ban: before = null } = await describe(id);
      const endsAt = new Date(now() + durationMs).toISOString();
      const after: ActiveBan = { ...key, reason: describeBan(reason), endsAt };
      await audit.make([{ action: 'bans.add', target: id, before, after }], {
        script: 'setBanAudited',
        keys: banKeys(keyHash),
        args: [reason, durationMs, await readRetentionDays(redis)],
      });
      await indexBan(redis, id, now() + durationMs, now());
      const found = await find(keyHash);
      if (found === undefined) throw new Error(`the ban of ${id} was removed at once`);
      return { ...key, ...found };
    },
    async lift(id) {
      const { keyHash, ban } = await describe(id);
      if (ban === undefined) throw new InvalidOperation(`the key ${id} is not banned`);
      await audit.make([{ action: 'bans.lift', target: id, before: ban, after: null }], {
        script: 'liftBanAudited',
        keys: banKeys(keyHash),
        args: [await readRetentionDays(redis)],
      });
      await redis.zrem(redisKeys.bans, id);
      return ban;
    },
  };
}

function banKeys(keyHash: string): [ban: string, strikes: string] {
  return [redisKeys.ban(keyHash), redisKeys.strikes(keyHash)];
}

/** Gateways write the number of bans in a row, operators write a reason. */
function describeBan(value: string): string {
  const count = consecutiveBan(value);
  return count === undefined ? value : `kept sending requests after 429 (consecutive ban ${count})`;
}
