import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { changeCustomer, type CustomerChange } from '../../../gateway/control/customers/customers.ts';
import {
  changeKey,
  issueFurtherKey,
  issueKey,
  revokeKey,
  rotateKey,
  type ApiKeyChange,
  type FurtherApiKey,
  type NewApiKey,
} from '../../../gateway/control/keys/keys.ts';
import { placeOfHash, showStoredKey } from '../../../gateway/control/keys/stored-keys.ts';
import { hashApiKey } from '../../../gateway/keys/api-key-format.ts';
import { readKeyPrefix, setKeyPrefix } from '../../../gateway/platform/config/key-prefix.ts';
import { createAuditLog } from '../../../gateway/platform/redis/record-change.ts';
import { createRedis, type RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import type { CustomerId, KeyPlace } from '../../../gateway/platform/redis/redis-keys.ts';
import { petsKeyPrefix } from '../../../gateway/upstream/pets-service.ts';
import { recordSecrets } from '../checks/evidence.ts';
import { startAnyRedis } from '../stores/redis-server.ts';

export interface IssuedKey extends KeyPlace {
  key: string;
  id: string;
}

/** Connects the Redis client of the gateway, which has its scripts. Disposal disconnects it. */
export async function connectRedis(url: string): Promise<RedisClient & Disposable> {
  const redis = createRedis(url, pino({ level: 'silent' }));
  await new Promise((resolve) => redis.once('ready', resolve));
  return Object.assign(redis, { [Symbol.dispose]: () => redis.disconnect() });
}

/** Connects to a Redis of its own, which may be the embedded one, and ends with the client. */
export async function startRedisClient() {
  const server = await startAnyRedis();
  const redis = await connectRedis(server.url);
  return Object.assign(redis, {
    url: server.url,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await server[Symbol.asyncDispose]();
    },
  });
}

/** Where the record of an API key is. */
export async function placeOfKey(redis: RedisClient, key: string): Promise<KeyPlace> {
  const place = await placeOfHash(redis, hashApiKey(key));
  if (place === undefined) throw new Error('the API key has no record');
  return place;
}

/** Makes keys as the gateways on this Redis expect them. */
export async function adoptKeyPrefix(redis: RedisClient): Promise<void> {
  setKeyPrefix((await readKeyPrefix(redis)) ?? petsKeyPrefix);
}

/** How the operations of operators are called. */
export const sessionOf = (redis: RedisClient, who = 'tests') => ({
  redis,
  audit: createAuditLog({ redis, who }),
  now: Date.now,
});

let lastIssuedMs = 0;

/** Issues keys as the ops command does, each in a millisecond of its own, so that lists have them in this order. */
export function keyIssuer(redis: RedisClient) {
  const session = sessionOf(redis);
  return {
    store: {
      issue: (wanted: NewApiKey, key?: string) => issueKey(session, wanted, key),
      issueFor: (id: CustomerId, wanted: FurtherApiKey) => issueFurtherKey(session, id, wanted),
      rotate: (id: string, graceMs: number) => rotateKey(session, id, graceMs),
      change: (id: string, change: ApiKeyChange) => changeKey(session, id, change),
      changeCustomer: (id: CustomerId, change: CustomerChange) => changeCustomer(session, id, change),
      revoke: (id: string) => revokeKey(session, id),
      show: (id: string) => showStoredKey(redis, id),
    },
    async issue(wanted: Partial<NewApiKey> = {}): Promise<IssuedKey> {
      await adoptKeyPrefix(redis);
      while (Date.now() === lastIssuedMs) await setImmediate();
      const { key, record } = await issueKey(session, { name: 'test', plan: 'free', ...wanted });
      lastIssuedMs = Date.parse(record.createdAt);
      recordSecrets(key);
      return { key, id: record.id, customerId: record.customerId, keyHash: hashApiKey(key) };
    },
  };
}
