import { readEmbeddedRedisUrl } from '../../gateway/redis/embedded/embedded-redis.ts';
import { freePort } from '../support/http/free-port.ts';
import { startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { hasRedisServer } from '../support/stores/redis-server.ts';
import { createConnection } from './connection.ts';
import { createGatewayProcess } from './processes.ts';
import type { FaultKind } from './schedule.ts';
import { gatewayFaults, type System } from './system.ts';

/** What embedded stores can suffer without losing what they have confirmed. */
export const embeddedFaults: readonly FaultKind[] = [
  'pause redis',
  'pause gateway',
  'kill gateway',
  'restart gateway',
  'pause upstream',
  'kill upstream',
];

/** Starts what `npm start` does, on embedded stores: a gateway and the pets service. */
export async function startEmbeddedSystem(): Promise<System> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await temporaryDirectory());
  const petsPort = await freePort();
  const startPets = () => startPetsService({ DATA_DIR: path, PETS_SERVICE_PORT: String(petsPort) });
  let pets = await startPets();
  stack.defer(() => pets[Symbol.asyncDispose]());
  const env = { DATA_DIR: path, PETS_SERVICE_URL: pets.url };
  const gateways = [stack.use(await createGatewayProcess(0, env))];
  for (const gateway of gateways) await gateway.start();
  const redisUrl = () => readEmbeddedRedisUrl(path);
  const connection = stack.use(createConnection(redisUrl));
  const disposables = stack.move();
  return {
    gateways,
    redisUrl,
    takeForwarded: () => undefined,
    faults: {
      ...gatewayFaults(gateways),
      'pause redis': async () => {
        const info = await (await connection.open()).info('server');
        const [, pid] = /^process_id:(\d+)/m.exec(info) ?? [];
        // The embedded Redis in JavaScript is part of the gateway.
        if (!hasRedisServer || pid === undefined) return () => {};
        process.kill(Number(pid), 'SIGSTOP');
        return () => process.kill(Number(pid), 'SIGCONT');
      },
      'pause upstream': () => {
        pets.signal('SIGSTOP');
        return () => pets.signal('SIGCONT');
      },
      'kill upstream': async () => {
        pets.signal('SIGKILL');
        await pets.exited;
        return async () => {
          pets = await startPets();
        };
      },
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
