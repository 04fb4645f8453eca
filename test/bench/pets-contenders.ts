import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { maxLimit } from '../../gateway/limits/limits.ts';
import { issueKey } from '../../gateway/operations/keys.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedis } from './fixture.ts';
import { closedLoop } from './load.ts';
import type { PetsFixture } from './pets-fixture.ts';
import type { PrismaResult, PrismaRun } from './pets-prisma.ts';
import { expectedStatus, requestScript, type PetsCall } from './pets-scenarios.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

/** Result of one run. Times in milliseconds, CPU time in microseconds per call. */
export interface PetsSample {
  perSecond: number;
  cpuMicros: number;
  postgresMicros: number;
  p50: number;
  p99: number;
}

/** System under test, on a core of its own. */
export interface PetsContender {
  measure(call: PetsCall, concurrency: number, seconds: number): Promise<PetsSample>;
  stop(): Promise<void>;
}

interface ContenderOptions {
  databaseUrl: string;
  poolSize: number;
  env?: Record<string, string>;
  /** Directory of another checkout. */
  cwd?: string | undefined;
}

async function startNode(
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

/** Starts the pets service as in production, including its access log. */
export async function startService(fixture: PetsFixture, options: ContenderOptions): Promise<PetsContender> {
  const { url, service } = await startPetsService(fixture, options);
  return httpContender(fixture, { url, token: fixture.token, processes: [service] });
}

/** Starts gateway and pets service on one core. Redis runs on the core of PostgreSQL. */
export async function startServiceBehindGateway(
  fixture: PetsFixture,
  options: ContenderOptions,
): Promise<PetsContender> {
  const { directory } = fixture;
  const { url: petsUrl, service } = await startPetsService(fixture, options);
  const [redisPort, port] = [await freePort(), await freePort()];
  const redisServer = await startRedis(await mkdtemp(join(directory, 'redis-')), redisPort);
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  const gateway = await startNode(fixture, 'gateway/server.ts', port, {
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
  const session = { redis, audit: createAuditLog({ redis, who: 'bench' }), now: Date.now };
  const limits = { minute: maxLimit, day: maxLimit };
  const { key } = await issueKey(session, { name: 'bench', plan: 'enterprise', ...limits });
  redis.disconnect();
  return httpContender(fixture, {
    url: `http://127.0.0.1:${port}`,
    token: key,
    processes: [gateway, service, redisServer],
    countedProcesses: [gateway, service],
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
  const service = await startNode(fixture, 'pets-service/server.ts', port, settings, cwd);
  const url = `http://127.0.0.1:${port}`;
  // The service listens before it is ready.
  while (!(await fetch(`${url}/readyz`)).ok);
  return { url, service };
}

interface HttpContenderOptions {
  url: string;
  token: string;
  /** Processes in the order in which they are stopped. */
  processes: readonly PinnedProcess[];
  /** Processes whose CPU time counts; defaults to all. */
  countedProcesses?: readonly PinnedProcess[];
}

function httpContender(
  fixture: PetsFixture,
  { url, token, processes, countedProcesses = processes }: HttpContenderOptions,
): PetsContender {
  const cpuSeconds = async () => {
    const all = await Promise.all(countedProcesses.map((each) => each.cpuSeconds()));
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
    // The machine stalled. The service can be the cause only if this happens repeatedly.
    if (requests === 0 && attempts > 1) return measure(call, connections, seconds, attempts - 1);
    if (measured.statuses[expectedStatus(call)] !== requests) {
      throw new Error(`unexpected response statuses: ${JSON.stringify(measured.statuses)}`);
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

export async function startPrisma(
  fixture: PetsFixture,
  { databaseUrl, poolSize, env }: ContenderOptions,
  { separateTicks }: Pick<PrismaRun, 'separateTicks'>,
): Promise<PetsContender> {
  const port = await freePort();
  const prisma = await startNode(fixture, 'test/bench/pets-prisma.ts', port, {
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(poolSize),
    ...env,
  });
  return {
    async measure(call, concurrency, seconds) {
      const run: PrismaRun = { call, separateTicks, concurrency, seconds };
      const postgresBefore = await fixture.postgresCpuSeconds();
      const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(run) });
      const {
        calls,
        seconds: elapsedSeconds,
        cpuSeconds,
        p50,
        p99,
      } = (await response.json()) as PrismaResult;
      return {
        perSecond: calls / elapsedSeconds,
        cpuMicros: (cpuSeconds / calls) * 1e6,
        postgresMicros: (((await fixture.postgresCpuSeconds()) - postgresBefore) / calls) * 1e6,
        p50,
        p99,
      };
    },
    stop: () => prisma.stop(),
  };
}
