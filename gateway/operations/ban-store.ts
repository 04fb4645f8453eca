import { indexBan } from '../quota/ban-index.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import type { RecordChange } from './audit-log.ts';
import { StoreRefusal, unlessRefused } from './invalid-operation.ts';

export interface ActiveBan {
  /** Of the API key. */
  id: string;
  name: string;
  plan: string;
  /** What led to it: refused requests, or what an operator gave as the reason. */
  reason: string;
  /** ISO 8601 in UTC. */
  endsAt: string;
}

export interface BanStore {
  /** All bans that gateways have met or operators have made, the one that ends first first. */
  list(): Promise<ActiveBan[]>;
  /** @returns undefined for a key that is not banned */
  find(sha: string): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined>;
  /**
   * Bans a key until then, in place of any other ban. In force from its next request on.
   * @throws StoreRefusal where there is no such key
   */
  add(id: string, durationMs: number, reason: string): Promise<ActiveBan>;
  /**
   * Ends a ban within a second, and forgets what led to it.
   * @throws StoreRefusal where there is no such key, or it is not banned
   */
  lift(id: string): Promise<ActiveBan>;
}

interface BanStoreDependencies {
  redis: RedisClient;
  keys: Pick<ApiKeyStore, 'show'>;
  audit: RecordChange;
  now: () => number;
}

export function createBanStore({ redis, keys, audit, now }: BanStoreDependencies): BanStore {
  async function find(sha: string): Promise<Pick<ActiveBan, 'reason' | 'endsAt'> | undefined> {
    const [leftMs, value] = await Promise.all([
      redis.pttl(redisKeys.ban(sha)),
      redis.get(redisKeys.ban(sha)).catch(() => 'not a text'),
    ]);
    if (leftMs === -2 || value === null) return undefined;
    // Set by hand without an expiry: the next request of the key gives it one.
    const endsAt = leftMs < 0 ? '' : new Date(now() + leftMs).toISOString();
    return { reason: reasonOf(value), endsAt };
  }

  async function describe(id: string) {
    const { sha, record } = await keys.show(id);
    const found = await find(sha);
    const { name, plan } = record;
    const ofKey = { id, name, plan };
    const ban: ActiveBan | undefined = found === undefined ? undefined : { ...ofKey, ...found };
    return { sha, ofKey, ban };
  }

  return {
    find,
    async list() {
      const ids = await redis.zrange(redisKeys.bans, '0', '-1');
      // Where the key is gone or its record can't be read, it is refused for that.
      const bans = await Promise.all(ids.map(async (id) => (await unlessRefused(describe(id)))?.ban));
      // One that was lifted by hand stays in the index until its time is over: see indexBan.
      return bans.filter((ban) => ban !== undefined);
    },
    async add(id, durationMs, reason) {
      const { sha, ofKey, ban: before = null } = await describe(id);
      const endsAt = new Date(now() + durationMs).toISOString();
      const after: ActiveBan = { ...ofKey, reason: reasonOf(reason), endsAt };
      await audit({ action: 'bans.add', target: id, before, after });
      await redis.set(redisKeys.ban(sha), reason, 'PX', durationMs);
      await indexBan(redis, id, now() + durationMs, now());
      const found = await find(sha);
      if (found === undefined) throw new Error(`the ban of ${id} was gone again at once`);
      return { ...ofKey, ...found };
    },
    async lift(id) {
      const { sha, ban } = await describe(id);
      if (ban === undefined) throw new StoreRefusal(`the key ${id} is not banned`);
      await audit({ action: 'bans.lift', target: id, before: ban, after: null });
      await redis.del(redisKeys.ban(sha), redisKeys.violations(sha));
      await redis.zrem(redisKeys.bans, id);
      return ban;
    },
  };
}

/** The gateways write which ban in a row it is; operators write why. */
function reasonOf(value: string): string {
  return /^\d{1,9}$/.test(value) ? `went on after 429 (ban ${value} in a row)` : value;
}
