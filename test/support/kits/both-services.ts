import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';
import { issueServiceToken, loadPrivateKey } from '../../../gateway/upstream/internal-token.ts';
import { recordSecrets } from '../checks/evidence.ts';
import { anyDatabase } from '../stores/stores.ts';
import { keyIssuer, startRedisClient } from './keys.ts';
import { startGateway, startPetsService } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { together } from './together.ts';

/** Short timeouts. A server soon closes each connection, so that its responses are known to be complete. */
export const shortTimeouts = { REQUEST_TIMEOUT_MS: '900', KEEP_ALIVE_TIMEOUT_MS: '200' };

/**
 * The real gateway in front of the real pets service.
 * @param env settings for both services
 */
export const startBothServices = (env: Record<string, string> = {}) =>
  together(async (stack) => {
    const redis = stack.use(await startRedisClient());
    const { path: dataDirectory } = stack.use(await temporaryDirectory());
    const shared = { DATA_DIR: dataDirectory };
    const petsService = stack.use(await startPetsService({ ...shared, ...(await anyDatabase()), ...env }));
    const gatewayEnv = { ...shared, REDIS_URL: redis.url, PETS_SERVICE_URL: petsService.url, ...env };
    const gateway = stack.use(await startGateway(gatewayEnv));
    await redis.hset(redisKeys.plan('anonymous'), 'minute', 1_000_000);
    /** An API key whose limits no test reaches. */
    const { key } = await keyIssuer(redis).issue({
      plan: 'enterprise',
      minute: 10_000_000,
      day: 10_000_000,
    });
    /** Internal token that the pets service accepts. */
    const token = issueServiceToken(loadPrivateKey(undefined, dataDirectory), 'tests', 600, 'pets-service');
    recordSecrets(token);
    const further = stack.use(new AsyncDisposableStack());
    return {
      redisUrl: redis.url,
      dataDirectory,
      gateway,
      petsService,
      key,
      token,
      /** Starts another gateway with the same Redis and the same data directory. */
      addGateway: async (settings: Record<string, string>) =>
        further.use(await startGateway({ ...gatewayEnv, ...settings })),
    };
  });
