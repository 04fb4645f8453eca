import { afterAll, beforeAll, describe, test } from 'vitest';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { webhookSettings } from '../support/kits/events-kit.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';
import { crossThresholds } from '../support/webhooks/cross-thresholds.ts';
import { startReceiver, type Receiver } from '../support/webhooks/receiver.ts';

const timeout = 600_000;

describe('10,000 customers', { tags: ['redis-server'], timeout }, () => {
  const stack = new AsyncDisposableStack();
  let redis: RedisClient;
  let receiver: Receiver;
  let start: () => Promise<Service>;
  beforeAll(async () => {
    const server = stack.use(await startRedisServer());
    receiver = stack.use(await startReceiver());
    const upstream = stack.use(await startUpstream());
    redis = await connectRedis(server.url);
    stack.defer(() => redis.disconnect());
    await seedDefaults(redis, 'tests');
    const env = {
      REDIS_URL: server.url,
      PETS_SERVICE_URL: upstream.url,
      ...webhookSettings,
      LOG_LEVEL: 'warn',
    };
    start = async () => stack.use(await startGateway(env));
  });
  afterAll(() => stack.disposeAsync());

  test('that cross their thresholds within a minute have each event exactly once, also if a gateway is killed', async () => {
    await crossThresholds({ redis, receiver, start, customers: 10_000 });
  });
});
