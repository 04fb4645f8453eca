import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { apiKeyHint, generateApiKey, hashApiKey } from './api-key-format.ts';
import { type ApiKeyRecord, parseApiKeyRecord } from './api-key-record.ts';
import { parseLimit } from './limits.ts';
import { anonymousPlan, enterprisePlan } from './plans.ts';
import { redisKeys } from './redis-keys.ts';
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

export interface ApiKeyStore {
  /**
   * Makes a key and its record. The key is in the answer and nowhere else.
   * @param key a key that exists already and is to be known here too; made where absent
   * @throws StoreRefusal for an expiry in the past, an unknown plan, or Enterprise without both limits
   */
  issue(wanted: NewApiKey, key?: string): Promise<{ key: string; record: ApiKeyRecord }>;
  /** All records by time of creation; those that have been removed since are left out. */
  list(): Promise<ApiKeyRecord[]>;
  /** @throws StoreRefusal where there is no such key, or its record can't be read */
  show(id: string): Promise<ApiKeyRecord>;
  /** @throws StoreRefusal as `issue` and `show` do, and for a key that is revoked */
  change(id: string, change: ApiKeyChange): Promise<ApiKeyRecord>;
  /** Refuses the key from its next request on. Revoking it again changes nothing. */
  revoke(id: string): Promise<ApiKeyRecord>;
  /** The record of a key that somebody holds. */
  findByKey(key: string): Promise<ApiKeyRecord | undefined>;
}

/** Revoked and expired records stay this long, so that clients are told which of the two it was. */
const keptDays = 90;
const maxAttempts = 5;

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
    const limits = plan === anonymousPlan ? [] : await redis.hmget(redisKeys.plan(plan), 'minute', 'day');
    if (limits.length === 0 || limits.some((limit) => parseLimit(limit) === undefined)) {
      throw new StoreRefusal(`there is no plan named ${JSON.stringify(plan)}; see: ops plans list`);
    }
  }

  /** A plan that was made with plain redis-cli is listed once a key is on it. */
  async function listPlan({ plan }: Pick<ApiKeyRecord, 'plan'>): Promise<void> {
    if (plan !== enterprisePlan) await redis.sadd(redisKeys.planNames, plan);
  }

  async function read(id: string): Promise<{ sha: string; record: ApiKeyRecord }> {
    const sha = await redis.hget(redisKeys.apiKeyIds, id);
    const parsed = sha === null ? undefined : parseApiKeyRecord(await redis.hgetall(redisKeys.apiKey(sha)));
    if (sha === null || parsed === undefined || parsed.outcome === 'absent') {
      throw new StoreRefusal(`there is no API key with the id ${JSON.stringify(id)}`);
    }
    if (parsed.outcome === 'broken') {
      throw new StoreRefusal(
        `the record ${redisKeys.apiKey(sha)} was edited into something unusable: ${parsed.faults.join('; ')}`,
      );
    }
    return { sha, record: parsed.record };
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
      const fields = Object.entries(toFields(edited)).flat();
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
      const fields = Object.entries(toFields(record)).flat();
      record.rev = await redis.changeRecord(redisKeys.apiKey(sha), 0, expiryOf(record), ...fields);
      if (record.rev === 0) throw new StoreRefusal('this key exists already');
      return { key, record };
    },
    async list() {
      const ids = await redis.zrange(redisKeys.apiKeysByCreation, '0', '-1');
      const records = await Promise.all(
        ids.map((id) =>
          read(id).then(
            ({ record }) => record,
            (error: unknown) => {
              if (error instanceof StoreRefusal) return undefined;
              throw error;
            },
          ),
        ),
      );
      return records.filter((record) => record !== undefined);
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
    revoke: (id) =>
      update(id, async (record) =>
        record.revokedAt === undefined ? { ...record, revokedAt: new Date(now()).toISOString() } : record,
      ),
    async findByKey(key) {
      const parsed = parseApiKeyRecord(await redis.hgetall(redisKeys.apiKey(hashApiKey(key))));
      return parsed.outcome === 'record' ? parsed.record : undefined;
    },
  };
}

/** An empty value removes a field (change-record-1.lua), and `rev` is the script's own. */
function toFields(record: ApiKeyRecord): Record<string, string> {
  const { id, name, plan, hint, createdAt, expiresAt = '', minute = '', day = '', revokedAt = '' } = record;
  const fields = { id, name, plan, hint, createdAt, expiresAt, minute: String(minute), day: String(day) };
  return { ...fields, revokedAt };
}

/** @returns Unix seconds at which the record may go, or '' where it stays for good. */
function expiryOf({ expiresAt, revokedAt }: ApiKeyRecord): number | '' {
  const ends = [expiresAt, revokedAt].flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  if (ends.length === 0) return '';
  return Math.ceil(Math.min(...ends) / 1000) + keptDays * 86_400;
}
