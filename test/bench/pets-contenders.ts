import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKeyStore } from '../../gateway/operations/api-key-store.ts';
import { createAuditLog } from '../../gateway/operations/audit-log.ts';
import { maxLimit } from '../../gateway/plans/limits.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedis } from './fixture.ts';
import { closedLoop } from './load.ts';
import type { PetsFixture } from './pets-fixture.ts';
import type { PrismaRan, PrismaRun } from './pets-prisma.ts';
import { expectedStatus, requestScript, type PetsCall } from './pets-scenarios.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

/** What one run has shown. Times in milliseconds, CPU time in microseconds a call. */
export interface PetsSample {
  perSecond: number;
  cpuMicros: number;
  /** CPU time of PostgreSQL. */
  postgresMicros: number;
  p50: number;
  p99: number;
}

/** Something that is measured, in a process of its own on a core of its own. */
export interface PetsContender {
  measure(call: PetsCall, concurrency: number, seconds: number): Promise<PetsSample>;
  stop(): Promise<void>;
}

interface ContenderOptions {
  databaseUrl: string;
  poolSize: number;
  env?: Record<string, string>;
  /** Directory of another version of this project. */
  cwd?: string | undefined;
}

async function start(
  { directory }: PetsFixture,
  script: string,
  port: number,
  env: Record<string, string>,
  cwd?: string,
): Promise<PinnedProcess> {
  return startPinned({
    core: cores.contender,
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', script],
    env,
    ...(cwd === undefined ? {} : { cwd }),
    directory,
    port,
  });
}

/** The pets service as it is run, access log and all. */
export async function startService(fixture: PetsFixture, options: ContenderOptions): Promise<PetsContender> {
  const { url, service } = await startPetsService(fixture, options);
  return overHttp(fixture, { url, token: fixture.token, processes: [service] });
}

/** The pets service behind the gateway, both on one core, with a Redis beside PostgreSQL. */
export async function startBehindGateway(
  fixture: PetsFixture,
  options: ContenderOptions,
): Promise<PetsContender> {
  const { directory } = fixture;
  const { url: petsUrl, service } = await startPetsService(fixture, options);
  const [redisPort, port] = [await freePort(), await freePort()];
  const redisServer = await startRedis(await mkdtemp(join(directory, 'redis-')), redisPort);
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  const gateway = await start(fixture, 'gateway/server.ts', port, {
    GATEWAY_PORT: String(port),
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_WORKERS: '1',
    PETS_SERVICE_URL: petsUrl,
    REDIS_URL: redisUrl,
    DATA_DIR: await mkdtemp(join(directory, 'data-')),
    INTERNAL_TOKEN_PRIVATE_KEY_FILE: fixture.privateKeyFile,
    SHUTDOWN_DELAY_MS: '0',
  });
  const redis = await connectRedis(redisUrl);
  const store = createApiKeyStore({ redis, audit: createAuditLog({ redis, who: 'bench' }), now: Date.now });
  const limits = { minute: maxLimit, day: maxLimit };
  const { key } = await store.issue({ name: 'bench', plan: 'enterprise', ...limits });
  redis.disconnect();
  return overHttp(fixture, {
    url: `http://127.0.0.1:${port}`,
    token: key,
    processes: [gateway, service, redisServer],
    measured: [gateway, service],
  });
}

async function startPetsService(
  fixture: PetsFixture,
  { databaseUrl, poolSize, env, cwd }: ContenderOptions,
): Promise<{ url: string; service: PinnedProcess }> {
  const port = await freePort();
  const settings = {
    PETS_SERVICE_PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(poolSize),
    DATA_DIR: await mkdtemp(join(fixture.directory, 'data-')),
    INTERNAL_TOKEN_PUBLIC_KEY_FILES: fixture.publicKeyFile,
    SHUTDOWN_DELAY_MS: '0',
    ...env,
  };
  const service = await start(fixture, 'pets-service/server.ts', port, settings, cwd);
  const url = `http://127.0.0.1:${port}`;
  // It listens before it serves.
  while (!(await fetch(`${url}/readyz`)).ok);
  return { url, service };
}

interface OverHttp {
  url: string;
  token: string;
  /** To be stopped in this order. */
  processes: readonly PinnedProcess[];
  /** Whose CPU time counts; all of them unless they are named. */
  measured?: readonly PinnedProcess[];
}

function overHttp(
  fixture: PetsFixture,
  { url, token, processes, measured: counted }: OverHttp,
): PetsContender {
  const cpuSeconds = async () => {
    const all = await Promise.all((counted ?? processes).map((each) => each.cpuSeconds()));
    return all.reduce((sum, part) => sum + part, 0);
  };

  async function measure(
    call: PetsCall,
    connections: number,
    seconds: number,
    attempts = 5,
  ): Promise<PetsSample> {
    const script = requestScript(call, token);
    const [before, postgresBefore] = [await cpuSeconds(), await fixture.postgresCpuSeconds()];
    const measured = await closedLoop({ directory: fixture.directory, url, script, connections, seconds });
    const requests = Object.values(measured.statuses).reduce((sum, count) => sum + count, 0);
    // The machine stood still for as long as that: it says nothing of the service, unless it happens again and again.
    if (requests === 0 && attempts > 1) return measure(call, connections, seconds, attempts - 1);
    if (measured.statuses[expectedStatus(call)] !== requests) {
      throw new Error(`answers other than expected: ${JSON.stringify(measured.statuses)}`);
    }
    const { requestsPerSecond: perSecond, p50, p99 } = measured;
    const micros = (secondsUsed: number) => (secondsUsed / requests) * 1e6;
    return {
      perSecond,
      cpuMicros: micros((await cpuSeconds()) - before),
      postgresMicros: micros((await fixture.postgresCpuSeconds()) - postgresBefore),
      p50,
      p99,
    };
  }
  return {
    measure,
    async stop() {
      for (const each of processes) await each.stop();
    },
  };
}

/** Prisma alone. @param apart see pets-prisma.ts */
export async function startPrisma(
  fixture: PetsFixture,
  { databaseUrl, poolSize, env }: ContenderOptions,
  { apart }: Pick<PrismaRun, 'apart'>,
): Promise<PetsContender> {
  const port = await freePort();
  const prisma = await start(fixture, 'test/bench/pets-prisma.ts', port, {
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(poolSize),
    ...env,
  });
  return {
    async measure(call, concurrency, seconds) {
      const order: PrismaRun = { call, apart, concurrency, seconds };
      const postgresBefore = await fixture.postgresCpuSeconds();
      const answer = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(order) });
      const { calls, cpuSeconds, p50, p99, ...ran } = (await answer.json()) as PrismaRan;
      return {
        perSecond: calls / ran.seconds,
        cpuMicros: (cpuSeconds / calls) * 1e6,
        postgresMicros: (((await fixture.postgresCpuSeconds()) - postgresBefore) / calls) * 1e6,
        p50,
        p99,
      };
    },
    stop: () => prisma.stop(),
  };
}
