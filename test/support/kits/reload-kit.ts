import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { send, type ClientResponse } from '../http/http.ts';
import { startAnyRedis } from '../stores/redis-server.ts';
import { startUpstream, type Upstream } from '../upstreams/upstream.ts';
import { connectRedis, keyIssuer } from './keys.ts';
import { startGateway, type Service } from './service.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const folder = fileURLToPath(new URL('../../../gateway/upstream/', import.meta.url));

export const descriptions = { pets: join(folder, 'pets.yaml'), orders: join(folder, 'example/orders.yaml') };

/** Lines of the log that tell how SIGHUP has ended. */
const outcome = /^.*"msg":"(?:workers are replaced|files are not reloaded|SIGHUP changes nothing).*$/gm;

type ServicesFile = Record<string, { description: string; urls: string[]; [field: string]: unknown }>;

/** A gateway in front of a stand-in for the pets service, whose services file the test changes. */
export interface ReloadKit extends AsyncDisposable {
  gateway: Service;
  pets: Upstream;
  redis: RedisClient;
  redisUrl: string;
  directory: string;
  servicesFile: string;
  /** An API key whose limits no test reaches. */
  key: string;
  get(path: string): Promise<ClientResponse>;
  /** Replaces the services file as a whole, as editors and Kubernetes do. */
  write(services: ServicesFile | string): Promise<void>;
  /** The pets service alone, with other instances if they are given. */
  onlyPets(urls?: string[], fields?: Record<string, unknown>): ServicesFile;
  /** The pets service and an orders service. */
  withOrders(urls: string[], fields?: Record<string, unknown>): ServicesFile;
  /** Sends SIGHUP, and waits for the outcome in the log. @returns its line */
  reload(): Promise<string>;
}

export async function startReloadKit(env: Record<string, string> = {}): Promise<ReloadKit> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startAnyRedis());
  const directory = stack.use(await temporaryDirectory());
  const pets = stack.use(await startUpstream());
  const servicesFile = join(directory.path, 'services.yaml');
  const onlyPets: ReloadKit['onlyPets'] = (urls = [pets.url], fields = {}) => ({
    'pets-service': { description: descriptions.pets, urls, ...fields },
  });
  const write: ReloadKit['write'] = async (services) => {
    // JSON is YAML, too.
    const text = typeof services === 'string' ? services : JSON.stringify({ services });
    await writeFile(`${servicesFile}.new`, text);
    await rename(`${servicesFile}.new`, servicesFile);
  };
  await write(onlyPets());
  const gateway = stack.use(
    await startGateway({
      DATA_DIR: directory.path,
      REDIS_URL: server.url,
      SERVICES_FILE: servicesFile,
      ...env,
    }),
  );
  const redis = await connectRedis(server.url);
  stack.defer(() => redis.disconnect());
  const limits = { plan: 'enterprise', minute: 10_000_000, day: 10_000_000 };
  const { key } = await keyIssuer(redis).issue(limits);
  const disposables = stack.move();
  return {
    gateway,
    pets,
    redis,
    redisUrl: server.url,
    directory: directory.path,
    servicesFile,
    key,
    get: (path) => send(`${gateway.url}${path}`, { key }),
    write,
    onlyPets,
    withOrders: (urls, fields = {}) => ({
      ...onlyPets(),
      orders: { description: descriptions.orders, urls, ...fields },
    }),
    async reload() {
      const outcomes = () => gateway.output().match(outcome) ?? [];
      const before = outcomes().length;
      gateway.signal('SIGHUP');
      await expect.poll(() => outcomes().length, { timeout: 120_000 }).toBe(before + 1);
      return outcomes().at(-1) ?? '';
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
