import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startAnyRedis } from '../stores/redis-server.ts';
import { anyDatabase } from '../stores/stores.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { startGateway, startPetsService, type Service } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const services = fileURLToPath(new URL('../../../gateway/upstream/', import.meta.url));

/** A gateway in front of the real pets service, and of an orders service that the test starts. */
export interface ServicesKit extends AsyncDisposable {
  gateway: Service;
  petsService: Service;
  /** Data directory of the gateway and the pets service. */
  dataDirectory: string;
  servicesFile: string;
  /** An API key whose limits no test reaches. */
  key: string;
}

export const ordersTimeoutMs = 1000;

/** @param ordersPort where the orders service will be */
export async function startServicesKit(ordersPort: number): Promise<ServicesKit> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startAnyRedis());
  const directory = stack.use(await temporaryDirectory());
  const shared = { DATA_DIR: directory.path };
  const petsService = stack.use(await startPetsService({ ...shared, ...(await anyDatabase()) }));
  const servicesFile = join(directory.path, 'services.yaml');
  const file = {
    services: {
      'pets-service': { description: join(services, 'pets.yaml'), urls: [petsService.url] },
      orders: {
        description: join(services, 'example/orders.yaml'),
        urls: [`http://127.0.0.1:${ordersPort}`],
        timeoutMs: ordersTimeoutMs,
      },
    },
  };
  // JSON is YAML, too.
  await writeFile(servicesFile, JSON.stringify(file));
  const gateway = stack.use(
    await startGateway({ ...shared, REDIS_URL: redis.url, SERVICES_FILE: servicesFile }),
  );
  const connection = await connectRedis(redis.url);
  stack.defer(() => connection.disconnect());
  const { key } = await keyIssuer(connection).issue({
    plan: 'enterprise',
    minute: 10_000_000,
    day: 10_000_000,
  });
  const disposables = stack.move();
  return {
    gateway,
    petsService,
    dataDirectory: directory.path,
    servicesFile,
    key,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
