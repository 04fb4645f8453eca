import { createServer } from 'node:http';
import type { Logger } from 'pino';
import { Agent } from 'undici';
import { createAuditLog } from './audit-log.ts';
import { createAdminApp } from './admin-app.ts';
import { createApiKeyStore } from './api-keys/api-key-store.ts';
import { createGateway } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { ensureDemoKey } from './api-keys/demo-key.ts';
import { createDrain } from './http/drain.ts';
import { startEmbeddedRedis } from './redis/embedded-redis.ts';
import { createHttpServer, type HttpLimits } from './http/http-server.ts';
import { connectionsLeft } from './http/open-files.ts';
import { createRefusalReport } from './http/refusal-report.ts';
import { loadPrivateKey, writePublicKey } from './upstream/internal-token-keys.ts';
import { assertFree, type Endpoint, listen } from './http/listen.ts';
import { createLog } from './log.ts';
import { createLogWriter, type LogWriter } from './log-writer.ts';
import { createMetrics } from './metrics.ts';
import { createReadinessProbe } from './upstream/readiness-probe.ts';
import { createRedisState } from './redis-state.ts';
import { createUpstreams } from './upstream/upstreams.ts';

/** How long a start waits for Redis before it goes on without. */
const redisPatienceMs = 2000;
const connectTimeoutMs = 2000;
/** Shorter than the pets service keeps an idle connection, lest a request meets its closing. */
const upstreamKeepAliveMs = 30_000;

/** How long the end waits for whoever reads the log. */
const logPatienceMs = 1000;
const standardOutput = 1;

const now = () => Date.now();

/** What has to be undone at the end, in reverse order of its making. */
type Cleanup = (() => Promise<void> | void)[];

/** Starts the gateway. Rejects where it can't, with what was begun left in `cleanup`. */
async function start(config: Config, log: Logger, logWriter: LogWriter, cleanup: Cleanup) {
  const publicEndpoint: Endpoint = { setting: 'GATEWAY_PORT', port: config.port, host: config.host };
  const adminEndpoint: Endpoint = {
    setting: 'GATEWAY_ADMIN_PORT',
    port: config.adminPort,
    host: config.adminHost,
  };
  await assertFree(publicEndpoint);
  await assertFree(adminEndpoint);
  const privateKey = loadPrivateKey(config.privateKeyFile, config.dataDirectory);
  if (config.publicKeyOutput !== undefined) writePublicKey(privateKey, config.publicKeyOutput);

  let url = config.redisUrl;
  if (url === undefined) {
    const embedded = await startEmbeddedRedis(config.dataDirectory, log);
    cleanup.push(() => embedded.close());
    log.info(`Redis: ${embedded.description}`);
    url = embedded.url;
  }
  const metrics = createMetrics({ droppedLogLines: () => logWriter.droppedLines });
  const state = createRedisState({ url, log, metrics, now });
  cleanup.push(() => state.close());
  const dispatcher = new Agent({
    connect: { timeout: connectTimeoutMs },
    headersTimeout: config.upstreamTimeoutMs,
    bodyTimeout: config.upstreamTimeoutMs,
    keepAliveTimeout: upstreamKeepAliveMs,
    connections: config.upstreamConnections,
  });
  cleanup.push(() => dispatcher.destroy());

  const upstreams = createUpstreams({
    urls: config.petsServiceUrls,
    probe: createReadinessProbe(),
    log,
    onState: (upstream, upstreamState) => {
      metrics.upstreamUp.set({ upstream }, upstreamState === 'ready' ? 1 : 0);
    },
  });
  cleanup.push(() => upstreams.close());

  const { upstreamTimeoutMs, trustProxy } = config;
  const { app, allow, isProxy, chargeAddress, recordRawAnswer } = createGateway({
    ...state,
    dispatcher,
    upstreams,
    upstreamTimeoutMs,
    privateKey,
    trustProxy,
    log,
    metrics,
    now,
  });
  const limits = limitConnections(config, log);
  const server = createHttpServer({
    app,
    allow,
    limits,
    isProxy,
    chargeAddress,
    onRawAnswer: recordRawAnswer,
    onOpenConnections: (count) => metrics.connections.set(count),
    onRefusedConnection: createRefusalReport({ log, metrics, limits }),
  });
  const drain = createDrain(server);
  const adminServer = createServer(createAdminApp({ ...state, upstreams, drain, metrics }));

  if (!(await state.untilOpen(redisPatienceMs))) {
    log.error('Redis cannot be reached: until it can, every request gets 503');
  }
  const adminPort = await listen(adminServer, adminEndpoint);
  cleanup.push(() => {
    adminServer.close();
    adminServer.closeAllConnections();
  });
  const port = await listen(server, publicEndpoint);
  cleanup.push(() => drain.drain(...patience(config)));
  log.info({ port, adminPort }, `gateway listens on port ${port}, admin on ${config.adminHost}:${adminPort}`);

  const audit = createAuditLog({ redis: state.redis, who: 'npm start' });
  const store = createApiKeyStore({ redis: state.redis, audit, now });
  const demoKey = config.demo
    ? await tryDemoKey(() => ensureDemoKey(store, config.dataDirectory, now), log)
    : undefined;
  process.send?.({ type: 'ready', port, adminPort, demoKey });
}

/** The limits of the settings, or fewer connections where the system would not let this process have as many. */
function limitConnections({ limits, upstreamConnections, petsServiceUrls }: Config, log: Logger): HttpLimits {
  const left = connectionsLeft(upstreamConnections * petsServiceUrls.length);
  if (left === undefined || left >= limits.maxConnections) return limits;
  log.warn(
    { maxConnections: left, wanted: limits.maxConnections },
    'MAX_CONNECTIONS is lowered to what the limit of open files (ulimit -n) allows',
  );
  return { ...limits, maxConnections: left };
}

/** The demo must not keep the service from starting: Redis may be away, or the Free plan edited into nonsense. */
async function tryDemoKey(ensure: () => Promise<string>, log: Logger): Promise<string | undefined> {
  try {
    return await ensure();
  } catch (error) {
    log.warn({ err: error }, 'there is no demo key');
    return undefined;
  }
}

async function undo(cleanup: Cleanup): Promise<void> {
  for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
}

const logWriter = createLogWriter(standardOutput);
const cleanup: Cleanup = [];
let stoppedBy: string | undefined;
/** Given with the second signal: whoever sends it does not want to wait for requests in flight. */
const impatience = new AbortController();

/** How long to wait before connections are refused, and what ends all waiting. Ctrl-C has no balancer to wait for. */
function patience({ shutdownDelayMs, shutdownTimeoutMs }: Config): [delayMs: number, cutOff: AbortSignal] {
  const cutOff = AbortSignal.any([
    impatience.signal,
    AbortSignal.timeout(shutdownDelayMs + shutdownTimeoutMs),
  ]);
  return [stoppedBy === 'SIGTERM' ? shutdownDelayMs : 0, cutOff];
}

async function stop(log: Logger, starting: Promise<void>): Promise<void> {
  log.info({ reason: stoppedBy }, 'stopping: requests in flight are finished first');
  // A start that failed is reported below.
  await starting.catch(() => {});
  await undo(cleanup);
  log.info('stopped');
  await logWriter.flush(logPatienceMs);
  process.exit(0);
}

try {
  const config = loadConfig(process.env);
  process.send?.({ type: 'configured' });
  const log = createLog(config.logLevel, logWriter);
  const starting = start(config, log, logWriter, cleanup);
  const onStop = (reason: string) => {
    if (stoppedBy !== undefined) return impatience.abort();
    stoppedBy = reason;
    void stop(log, starting);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onStop);
  // The process that started this one is gone, and with it the terminal.
  process.on('disconnect', () => onStop('disconnect'));
  await starting;
} catch (error) {
  await undo(cleanup);
  const lines =
    error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`gateway: ${line}\n`);
  process.exit(1);
}
