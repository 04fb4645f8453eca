import { send } from '../http/http.ts';
import { startUpstream } from '../upstreams/upstream.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { redisStateOf, startGateway } from './service.ts';
import { together } from './together.ts';

/**
 * Several gateways on one Redis, in front of a stand-in upstream.
 * @param url URL of Redis, in any form that the gateway accepts
 * @param envOf further environment of each gateway
 */
export const startGatewayFleet = (
  url: string,
  count: number,
  envOf: (index: number) => Record<string, string> = () => ({}),
) =>
  together(async (stack) => {
    const upstream = stack.use(await startUpstream());
    const redis = stack.use(await connectRedis(url));
    const env = { REDIS_URL: url, PETS_SERVICE_URL: upstream.url };
    const gateways = await Promise.all(
      Array.from({ length: count }, (_, index) => startGateway({ ...env, ...envOf(index) })),
    );
    for (const gateway of gateways) stack.use(gateway);
    return {
      redis,
      upstream,
      gateways,
      issue: keyIssuer(redis).issue,
      /** Lists pets with a key. The turn selects the gateway. */
      pets: (key: string, turn = 0) => send(`${gateways[turn % count]?.url}/v1/pets`, { key }),
      /** State of Redis according to each gateway: ok or unavailable. */
      redisStates: () => Promise.all(gateways.map(redisStateOf)),
    };
  });
