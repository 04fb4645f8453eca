import { redisKeys } from '../../../gateway/platform/redis/redis-keys.ts';
import { issueServiceToken, loadPrivateKey } from '../../../gateway/upstream/internal-token.ts';
import { recordSecrets } from '../checks/evidence.ts';
import { startAnyRedis } from '../stores/redis-server.ts';
import { anyDatabase } from '../stores/stores.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { startGateway, startPetsService, type Service } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The real gateway in front of the real pets service. */
export interface BothServices extends AsyncDisposable {
  redisUrl: string;
  /** Data directory of both services. */
  dataDirectory: string;
  gateway: Service;
  petsService: Service;
  /** An API key whose limits no test reaches. */
  key: string;
  /** Internal token that the pets service accepts. */
  token: string;
  /** Starts another gateway with the same Redis and the same data directory. */
  addGateway(env: Record<string, string>): Promise<Service>;
}

/** Short timeouts. A server soon closes each connection, so that its responses are known to be complete. */
export const shortTimeouts = { REQUEST_TIMEOUT_MS: '900', KEEP_ALIVE_TIMEOUT_MS: '200' };

/** @param env settings for both services */
export async function startBothServices(env: Record<string, string> = {}): Promise<BothServices> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startAnyRedis());
  const directory = stack.use(await temporaryDirectory());
  const shared = { DATA_DIR: directory.path };
  const petsService = stack.use(await startPetsService({ ...shared, ...(await anyDatabase()), ...env }));
  const gatewayEnv = { ...shared, REDIS_URL: redis.url, PETS_SERVICE_URL: petsService.url, ...env };
  const gateway = stack.use(await startGateway(gatewayEnv));
  const connection = await connectRedis(redis.url);
  stack.defer(() => connection.disconnect());
  await connection.hset(redisKeys.plan('anonymous'), 'minute', 1_000_000);
  const { key } = await keyIssuer(connection).issue({
    plan: 'enterprise',
    minute: 10_000_000,
    day: 10_000_000,
  });
  const token = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
  recordSecrets(token);
  const disposables = stack.move();
  return {
    redisUrl: redis.url,
    dataDirectory: directory.path,
    gateway,
    petsService,
    key,
    token,
    async addGateway(settings) {
      return disposables.use(await startGateway({ ...gatewayEnv, ...settings }));
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
