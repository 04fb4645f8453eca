import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

let kit: GatewayKit;

beforeAll(async () => {
  kit = await startGatewayKit();
});

afterAll(async () => {
  kit.reportOutage();
  await kit[Symbol.asyncDispose]();
});

const pets = (key: string) => send(`${kit.gateway.url}/v1/pets`, { key });

// Concurrent, because they wait for real time to pass.
describe.concurrent('clients that respect 429', { tags: ['redis-server'] }, () => {
  test(
    'a client that waits exactly Retry-After is served and never banned',
    { timeout: 120_000 },
    async ({ expect }) => {
      const { key, customerId, keyHash } = await kit.issue({ minute: 1 });
      await pets(key);
      const refused = await pets(key);
      expect(refused.status).toBe(429);
      await sleep(Number(refused.header('Retry-After')) * 1000);
      expect((await pets(key)).status).toBe(200);
      expect(await kit.redis.exists(redisKeys.ban({ customerId, keyHash }))).toBe(0);
    },
  );
});
