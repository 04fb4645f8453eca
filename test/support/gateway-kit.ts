import type { Redis } from 'ioredis';
import { connectRedis, type IssuedKey, keyIssuer } from './keys.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';
import { type Service, startGateway } from './service.ts';
import { startUpstream, type Upstream } from './upstream.ts';

/** One gateway on a redis-server of its own, before a stand-in upstream. */
export interface GatewayKit extends AsyncDisposable {
  server: RedisServer;
  redis: Redis;
  upstream: Upstream;
  gateway: Service;
  issue: (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) => Promise<IssuedKey>;
}

export async function startGatewayKit(env: Record<string, string> = {}): Promise<GatewayKit> {
  const [server, upstream] = await Promise.all([startRedisServer(), startUpstream()]);
  const gateway = await startGateway({
    REDIS_URL: server.url,
    PETS_SERVICE_URL: upstream.url,
    LOG_LEVEL: 'warn',
    ...env,
  });
  const redis = await connectRedis(server.url);
  return {
    server,
    redis,
    upstream,
    gateway,
    issue: (wanted) => keyIssuer(redis).issue(wanted),
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await gateway[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
