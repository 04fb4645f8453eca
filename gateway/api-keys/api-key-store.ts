import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { apiKeyHint, generateApiKey, hashApiKey } from './api-key-format.ts';
import { type ApiKeyRecord, expiryOf, formatApiKeyRecord, parseApiKeyRecord } from './api-key-record.ts';
import { parseLimit } from '../quota/limits.ts';
import { readPlanLimits } from '../quota/plan-store.ts';
import { anonymousPlan, enterprisePlan } from '../quota/plans.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { StoreRefusal } from './store-refusal.ts';

export interface NewApiKey {
  name: string;
  plan: string;
  expiresAt?: Date | undefined;
  minute?: number | undefined;
  day?: number | undefined;
}

/** Undefined leaves a field as it is; null takes it away. */
export interface ApiKeyChange {
  plan?: string | undefined;
  minute?: number | null | undefined;
  day?: number | null | undefined;
}

/** A key as it is in Redis: its record, or what is wrong with one that was edited by hand. */
export type ListedApiKey =
  | { outcome: 'record'; record: ApiKeyRecord }
  | { outcome: 'broken'; id: string; faults: string[]; revoked: boolean };

export interface ApiKeyStore {
  /**
   * Makes a key and its record. The key is in the answer and nowhere else.
   * @param key a key that exists already and is to be known here too; made where absent
   * @throws StoreRefusal for an expiry in the past, an unknown plan, or Enterprise without both limits
   */
  issue(wanted: NewApiKey, key?: string): Promise<{ key: string; record: ApiKeyRecord }>;
  /** All keys by time of creation. Those whose records have expired are forgotten on the way. */
  list(): Promise<ListedApiKey[]>;
  /** @throws StoreRefusal where there is no such key, or its record can't be read */
  show(id: string): Promise<ApiKeyRecord>;
  /** @throws StoreRefusal as `issue` and `show` do, and for a key that is revoked */
  change(id: string, change: ApiKeyChange): Promise<ApiKeyRecord>;
  /**
   * Refuses the key from its next request on, whatever else its record holds. Revoking it again changes nothing.
   * @throws StoreRefusal where there is no such key
   */
  revoke(id: string): Promise<ListedApiKey>;
  /** The record of a key that somebody holds. */
  findByKey(key: string): Promise<ApiKeyRecord | undefined>;
}

const maxAttempts = 5;
/** Between an entry in the indexes and its record, at the most. */
const issuePatienceMs = 60_000;

export function createApiKeyStore({ redis, now }: { redis: Redis; now: () => number }): ApiKeyStore {
  /** @throws StoreRefusal where the plan does not exist, or leaves a limit open that the key does not set itself. */
  async function checkLimits(record: Pick<ApiKeyRecord, 'plan' | 'minute' | 'day'>): Promise<void> {
    const { plan, minute, day } = record;
    if (plan === enterprisePlan) {
      if (minute === undefined || day === undefined) {
        throw new StoreRefusal('an enterprise key needs both its own limits: --minute N --day N');
      }
      return;
    }
    const limits = plan === anonymousPlan ? [] : await readPlanLimits(redis, plan);
    if (limits.length === 0 || limits.some((limit) => parseLimit(limit) === undefined)) {
      throw new StoreRefusal(`there is no plan named ${JSON.stringify(plan)}; see: ops plans list`);
    }
  }

  /** A plan that was made with plain redis-cli is listed once a key is on it. */
  async function listPlan({ plan }: Pick<ApiKeyRecord, 'plan'>): Promise<void> {
    if (plan !== enterprisePlan) await redis.sadd(redisKeys.planNames, plan);
  }

  async function look(id: string): Promise<{ sha: string; rev: string; key: ListedApiKey } | undefined> {
    const sha = await redis.hget(redisKeys.apiKeyIds, id);
    if (sha === null) return undefined;
    const fields = await redis.hgetall(redisKeys.apiKey(sha)).catch((error: unknown) => {
      if (isWrongType(error))
        throw new StoreRefusal(`${redisKeys.apiKey(sha)} is not a hash any more: DEL it`);
      throw error;
    });
    const parsed = parseApiKeyRecord(fields);
    if (parsed.outcome === 'absent') return undefined;
    return { sha, rev: fields['rev'] ?? '0', key: parsed.outcome === 'broken' ? { ...parsed, id } : parsed };
  }

  /** Takes keys without a record off the indexes, but not those that are being issued this moment. */
  async function forget(ids: string[]): Promise<void> {
    for (const id of ids) {
      const createdAt = Number(await redis.zscore(redisKeys.apiKeysByCreation, id));
      if (createdAt > now() - issuePatienceMs) continue;
      await redis.zrem(redisKeys.apiKeysByCreation, id);
      await redis.hdel(redisKeys.apiKeyIds, id);
    }
  }

  async function mustLook(id: string) {
    const found = await look(id);
    if (found === undefined) throw new StoreRefusal(`there is no API key with the id ${JSON.stringify(id)}`);
    return found;
  }

  async function read(id: string): Promise<{ sha: string; record: ApiKeyRecord }> {
    const { sha, key } = await mustLook(id);
    if (key.outcome === 'record') return { sha, record: key.record };
    const faults = key.faults.join('; ');
    throw new StoreRefusal(
      `the record ${redisKeys.apiKey(sha)} was edited into something unusable: ${faults}`,
    );
  }

  /** Read, decide, write if nobody wrote in between; else once more. */
  async function update(
    id: string,
    edit: (record: ApiKeyRecord) => Promise<ApiKeyRecord>,
  ): Promise<ApiKeyRecord> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { sha, record } = await read(id);
      const edited = await edit(record);
      if (edited === record) return record;
      const fields = formatApiKeyRecord(edited);
      const rev = await redis.changeRecord(redisKeys.apiKey(sha), record.rev, expiryOf(edited), ...fields);
      if (rev > 0) return { ...edited, rev };
    }
    throw new Error(`the key ${id} is being changed by others all the time`);
  }

  return {
    async issue(wanted, key = generateApiKey()) {
      const { name, plan, expiresAt, minute, day } = wanted;
      if (expiresAt !== undefined && expiresAt.getTime() <= now()) {
        throw new StoreRefusal('the expiry is in the past');
      }
      await checkLimits(wanted);
      const record: ApiKeyRecord = {
        id: `key_${randomBytes(9).toString('hex')}`,
        name,
        plan,
        hint: apiKeyHint(key),
        createdAt: new Date(now()).toISOString(),
        expiresAt: expiresAt?.toISOString(),
        minute,
        day,
        rev: 0,
      };
      const sha = hashApiKey(key);
      await listPlan(record);
      // The indexes first: should this end half-way, they point at nothing, and nobody holds a key that works.
      await redis.hset(redisKeys.apiKeyIds, record.id, sha);
      await redis.zadd(redisKeys.apiKeysByCreation, String(now()), record.id);
      const fields = formatApiKeyRecord(record);
      record.rev = await redis.changeRecord(redisKeys.apiKey(sha), 0, expiryOf(record), ...fields);
      if (record.rev === 0) throw new StoreRefusal('this key exists already');
      return { key, record };
    },
    async list() {
      const ids = await redis.zrange(redisKeys.apiKeysByCreation, '0', '-1');
      const keys = await Promise.all(ids.map(async (id) => ({ id, found: await look(id) })));
      await forget(keys.flatMap(({ id, found }) => (found === undefined ? [id] : [])));
      return keys.flatMap(({ found }) => (found === undefined ? [] : [found.key]));
    },
    show: async (id) => (await read(id)).record,
    change: (id, change) =>
      update(id, async (record) => {
        if (record.revokedAt !== undefined) throw new StoreRefusal(`the key ${id} is revoked`);
        const edited = {
          ...record,
          plan: change.plan ?? record.plan,
          minute: change.minute === undefined ? record.minute : (change.minute ?? undefined),
          day: change.day === undefined ? record.day : (change.day ?? undefined),
        };
        await checkLimits(edited);
        await listPlan(edited);
        return edited;
      }),
    async revoke(id) {
      for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
        const { sha, rev, key } = await mustLook(id);
        if (key.outcome === 'record' ? key.record.revokedAt !== undefined : key.revoked) return key;
        const revokedAt = new Date(now()).toISOString();
        const expiry =
          key.outcome === 'record' ? expiryOf({ ...key.record, revokedAt }) : expiryOf({ revokedAt });
        // This one field, so that a record that can't be read can still be revoked.
        await redis.changeRecord(redisKeys.apiKey(sha), rev, expiry, 'revokedAt', revokedAt);
      }
      throw new Error(`the key ${id} is being changed by others all the time`);
    },
    async findByKey(key) {
      const parsed = parseApiKeyRecord(await redis.hgetall(redisKeys.apiKey(hashApiKey(key))));
      return parsed.outcome === 'record' ? parsed.record : undefined;
    },
  };
}
