import { vi } from 'vitest';
import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';
import { send } from '../http/http.ts';
import { startAnyRedis } from '../stores/redis-server.ts';
import { startUpstream } from '../upstreams/upstream.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { startGateway } from './service.ts';
import { together } from './together.ts';

export type GatewayKit = Awaited<ReturnType<typeof startGatewayKit>>;

/** A gateway on its own Redis, in front of a stand-in upstream. */
export const startGatewayKit = (settings: Record<string, string> = {}) =>
  together(async (stack) => {
    const server = stack.use(await startAnyRedis());
    const upstream = stack.use(await startUpstream());
    const redis = stack.use(await connectRedis(server.url));
    /** The addresses that another gateway beside it needs. */
    const env = { REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url };
    const gateway = stack.use(await startGateway({ ...env, ...settings }));
    // A busy machine may have made Redis unavailable, which explains failed tests.
    stack.defer(() => {
      const outages = gateway.output().split('Redis is unavailable; known keys').length - 1;
      if (outages > 0) console.warn(`outages of Redis: ${outages}, which may explain failed tests`);
    });
    // On a busy machine, the gateway may have given up its first attempt to write the defaults.
    const hasDefaults = async () => (await redis.exists(redisKeys.plan('free'))) === 1;
    await vi.waitUntil(hasDefaults, { timeout: 20_000 });
    const { issue } = keyIssuer(redis);
    /** Lists pets with a key. */
    const pets = (key: string) => send(`${gateway.url}/v1/pets`, { key });
    return { server, redis, upstream, gateway, env, issue, pets };
  });
