import { vi } from 'vitest';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';
import { startAnyRedis, type RedisServer } from '../stores/redis-server.ts';
import { startUpstream, type Upstream } from '../upstreams/upstream.ts';
import { connectRedis, keyIssuer, type IssuedKey } from './keys.ts';
import { startGateway, type Service } from './service.ts';

/** A gateway on its own Redis, in front of a stand-in upstream. */
export interface GatewayKit extends AsyncDisposable {
  server: RedisServer;
  redis: RedisClient;
  upstream: Upstream;
  gateway: Service;
  issue: (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) => Promise<IssuedKey>;
  /** The addresses that another gateway beside it needs. */
  env: { REDIS_URL: string; PETS_SERVICE_URL: string };
}

export async function startGatewayKit(env: Record<string, string> = {}): Promise<GatewayKit> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startAnyRedis());
  const upstream = stack.use(await startUpstream());
  const redis = await connectRedis(server.url);
  stack.defer(() => redis.disconnect());
  const addresses = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
  const gateway = stack.use(await startGateway({ ...addresses, ...env }));
  // A busy machine may have made Redis unavailable, which explains failed tests.
  stack.defer(() => {
    const outages = gateway.output().split('Redis is unavailable; known keys').length - 1;
    if (outages > 0) console.warn(`outages of Redis: ${outages}, which may explain failed tests`);
  });
  // On a busy machine, the gateway may have given up its first attempt to write the defaults.
  const hasDefaults = async () => (await redis.exists(redisKeys.plan('free'))) === 1;
  await vi.waitUntil(hasDefaults, { timeout: 20_000 });
  const disposables = stack.move();
  return {
    server,
    redis,
    upstream,
    gateway,
    env: addresses,
    issue: (wanted) => keyIssuer(redis).issue(wanted),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
