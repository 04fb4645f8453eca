import { createServer } from 'node:http';
import type { Logger } from 'pino';
import { Agent } from 'undici';
import { createAdminApp } from './admin-app.ts';
import { createApiKeyStore } from './api-key-store.ts';
import { createGateway } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { ensureDemoKey } from './demo-key.ts';
import { createDrain } from './drain.ts';
import { startEmbeddedRedis } from './embedded-redis.ts';
import { createHttpServer } from './http-server.ts';
import { loadPrivateKey } from './internal-token-keys.ts';
import { assertFree, type Endpoint, listen } from './listen.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { createRedisState } from './redis-state.ts';

/** How long a start waits for Redis before it goes on without. */
const redisPatienceMs = 2000;
const connectTimeoutMs = 2000;
/** Shorter than the pets service keeps an idle connection, lest a request meets its closing. */
const upstreamKeepAliveMs = 30_000;

const now = () => Date.now();

/** What has to be undone at the end, in reverse order of its making. */
type Cleanup = (() => Promise<void> | void)[];

/** Starts the gateway. Rejects where it can't, with what was begun left in `cleanup`. */
async function start(config: Config, log: Logger, cleanup: Cleanup) {
  const publicEndpoint: Endpoint = { setting: 'GATEWAY_PORT', port: config.port, host: config.host };
  const adminEndpoint: Endpoint = {
    setting: 'GATEWAY_ADMIN_PORT',
    port: config.adminPort,
    host: config.adminHost,
  };
  await assertFree(publicEndpoint);
  await assertFree(adminEndpoint);
  const privateKey = loadPrivateKey(config.privateKeyFile, config.dataDirectory);

  let url = config.redisUrl;
  if (url === undefined) {
    const embedded = await startEmbeddedRedis(config.dataDirectory, log);
    cleanup.push(() => embedded.close());
    log.info(`Redis: ${embedded.description}`);
    url = embedded.url;
  }
  const metrics = createMetrics();
  const state = createRedisState({ url, log, metrics, now });
  cleanup.push(() => state.close());
  const dispatcher = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: config.upstreamTimeoutMs,
    bodyTimeout: config.upstreamTimeoutMs,
    keepAliveTimeout: upstreamKeepAliveMs,
  });
  cleanup.push(() => dispatcher.destroy());

  const drain = createDrain();
  const { petsServiceUrl: upstreamUrl, trustProxy } = config;
  const { app, chargeAddress } = createGateway({
    ...state,
    drain,
    dispatcher,
    upstreamUrl,
    privateKey,
    trustProxy,
    log,
    metrics,
    now,
  });
  const server = createHttpServer({
    app,
    headersTimeoutMs: config.headersTimeoutMs,
    requestTimeoutMs: config.requestTimeoutMs,
    addressHeaders: chargeAddress,
  });
  const adminServer = createServer(createAdminApp({ ...state, drain, metrics }));

  if (!(await state.untilOpen(redisPatienceMs))) {
    log.error('Redis cannot be reached: until it can, every request gets 503');
  }
  const adminPort = await listen(adminServer, adminEndpoint);
  cleanup.push(() => {
    adminServer.close();
    adminServer.closeAllConnections();
  });
  const port = await listen(server, publicEndpoint);
  cleanup.push(() =>
    drain.drain(server, AbortSignal.any([AbortSignal.timeout(config.shutdownTimeoutMs), impatience.signal])),
  );
  log.info({ port, adminPort }, `gateway listens on port ${port}, admin on ${config.adminHost}:${adminPort}`);

  const store = createApiKeyStore({ redis: state.redis, now });
  const demoKey =
    config.demo && state.gate.open ? await ensureDemoKey(store, config.dataDirectory, now) : undefined;
  process.send?.({ type: 'ready', port, adminPort, demoKey });
}

async function undo(cleanup: Cleanup): Promise<void> {
  for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
}

const cleanup: Cleanup = [];
/** Given with the second signal: whoever sends it does not want to wait for requests in flight. */
const impatience = new AbortController();
let stopping: Promise<void> | undefined;

async function stop(reason: string, log: Logger, starting: Promise<void>): Promise<void> {
  log.info({ reason }, 'stopping: requests in flight are finished first');
  // A start that failed is reported below.
  await starting.catch(() => {});
  await undo(cleanup);
  log.info('stopped');
  process.exit(0);
}

try {
  const config = loadConfig(process.env);
  process.send?.({ type: 'configured' });
  const log = createLog(config.logLevel);
  const starting = start(config, log, cleanup);
  const stopOnce = (reason: string) => {
    if (stopping === undefined) stopping = stop(reason, log, starting);
    else impatience.abort();
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stopOnce);
  // The process that started this one is gone, and with it the terminal.
  process.on('disconnect', () => stopOnce('disconnect'));
  await starting;
} catch (error) {
  await undo(cleanup);
  const lines =
    error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`gateway: ${line}\n`);
  process.exit(1);
}
