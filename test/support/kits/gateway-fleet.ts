import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { send, type ClientResponse } from '../http/http.ts';
import { startUpstream, type Upstream } from '../upstreams/upstream.ts';
import { connectRedis, keyIssuer, type IssuedKey } from './keys.ts';
import { redisStateOf, startGateway, type Service } from './service.ts';

/** Several gateways on one Redis, in front of a stand-in upstream. */
export interface GatewayFleet extends AsyncDisposable {
  redis: RedisClient;
  upstream: Upstream;
  gateways: Service[];
  issue: (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) => Promise<IssuedKey>;
  /** Lists pets with a key. The turn selects the gateway. */
  pets: (key: string, turn?: number) => Promise<ClientResponse>;
  /** State of Redis according to each gateway: ok or unavailable. */
  redisStates(): Promise<string[]>;
}

/**
 * @param url URL of Redis, in any form that the gateway accepts
 * @param envOf further environment of each gateway
 */
export async function startGatewayFleet(
  url: string,
  count: number,
  envOf: (index: number) => Record<string, string> = () => ({}),
): Promise<GatewayFleet> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startUpstream());
  const redis = await connectRedis(url);
  stack.defer(() => redis.disconnect());
  const env = { REDIS_URL: url, PETS_SERVICE_URL: upstream.url };
  const gateways = await Promise.all(
    Array.from({ length: count }, (_, index) => startGateway({ ...env, ...envOf(index) })),
  );
  for (const gateway of gateways) stack.use(gateway);
  const disposables = stack.move();
  return {
    redis,
    upstream,
    gateways,
    issue: (wanted) => keyIssuer(redis).issue(wanted),
    pets: (key, turn = 0) => send(`${gateways[turn % count]?.url}/v1/pets`, { key }),
    redisStates: () => Promise.all(gateways.map(redisStateOf)),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
