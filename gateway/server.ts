import { once } from 'node:events';
import { createServer } from 'node:http';
import { inspect } from 'node:util';
import type { Logger } from 'pino';
import { createAdminApp } from './admin/admin-app.ts';
import { assertPortsDiffer, ConfigError, loadConfig, type Config } from './config/config.ts';
import { shareLimits } from './config/connection-budget.ts';
import { ensureDemoKey } from './demo/demo-key.ts';
import { createCounts } from './http/in-use-counters.ts';
import { createInstance, publicEndpoint } from './instance.ts';
import { createLog, createRequestLog } from './observability/log.ts';
import { createMetrics } from './observability/metrics.ts';
import { createApiKeyStore } from './operations/api-key-store.ts';
import { createAuditLog } from './operations/audit-log.ts';
import { startEmbeddedRedis } from './redis/embedded/embedded-redis.ts';
import { createRedis } from './redis/redis-client.ts';
import { choosePort, listen, type Endpoint } from './runtime/listen.ts';
import { createLogWriter, type LogWriter } from './runtime/log-writer.ts';
import { loadPrivateKey, writePublicKey } from './upstream/internal-token-keys.ts';
import { createPrimary } from './workers/primary.ts';

const demoPatienceMs = 2000;

/** How long the end waits for whoever reads the log. */
const logPatienceMs = 1000;

const now = () => Date.now();

/** What has to be undone at the end, in reverse order of its making. */
type Cleanup = (() => Promise<void> | void)[];

/** Starts the gateway. Rejects where it can't, with what was begun left in `cleanup`. */
async function start(config: Config, log: Logger, logWriter: LogWriter, cleanup: Cleanup) {
  const sharedConfig = shareLimits(config, log);
  const adminEndpoint: Endpoint = {
    portSetting: 'GATEWAY_ADMIN_PORT',
    hostSetting: 'GATEWAY_ADMIN_HOST',
    port: config.adminPort,
    host: config.adminHost,
  };
  // Before anything is started or written.
  await choosePort(publicEndpoint(config));
  await choosePort(adminEndpoint);
  const privateKey = loadPrivateKey(config.privateKeyFile, config.dataDirectory);
  if (config.publicKeyOutput !== undefined) writePublicKey(privateKey, config.publicKeyOutput);

  let redisUrl = config.redisUrl;
  if (redisUrl === undefined) {
    const embedded = await startEmbeddedRedis(config.dataDirectory, log);
    cleanup.push(() => embedded.close());
    log.info(`Redis: ${embedded.description}`);
    redisUrl = embedded.url;
  }
  const metrics = createMetrics({ droppedLogLines: () => logWriter.droppedLines });
  const redisIsPrivate = config.redisUrl === undefined;
  const shared = { config: { ...sharedConfig, redisUrl, redisIsPrivate }, privateKey, log, metrics };
  // One worker is this process itself.
  const service =
    config.workers === 1
      ? createInstance({ ...shared, makeCounts: createCounts, logRequest: createRequestLog(log, logWriter) })
      : createPrimary(shared);
  cleanup.push(() => service.close());

  const { health, metrics: render } = service;
  const adminServer = createServer(
    createAdminApp({ health, metrics: render, metricsType: metrics.registry.contentType }),
  );
  const adminPort = await listen(adminServer, adminEndpoint);
  cleanup.push(() => {
    adminServer.close();
    adminServer.closeAllConnections();
  });
  const port = await service.listen();
  cleanup.push(() => service.drain(...patience(config)));
  log.info({ port, adminPort }, `gateway listens on port ${port}, admin on ${config.adminHost}:${adminPort}`);

  const demoKey = config.demo ? await tryDemoKey(config, redisUrl, log) : undefined;
  process.send?.({ type: 'ready', port, adminPort, demoKey });
}

/** The demo must not keep the service from starting: Redis may be away, or the Free plan edited into nonsense. */
async function tryDemoKey(
  { dataDirectory }: Config,
  redisUrl: string,
  log: Logger,
): Promise<string | undefined> {
  const redis = createRedis(redisUrl, log);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(demoPatienceMs) });
    const audit = createAuditLog({ redis, who: 'npm start' });
    return await ensureDemoKey(createApiKeyStore({ redis, audit, now }), dataDirectory, now);
  } catch (error) {
    log.warn({ err: error }, 'there is no demo key');
    return undefined;
  } finally {
    redis.disconnect();
  }
}

async function undo(cleanup: Cleanup): Promise<void> {
  for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
}

const logWriter = createLogWriter();
const cleanup: Cleanup = [];
let stoppedBy: string | undefined;
let stopped: Promise<void> | undefined;
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
  await starting.catch(() => {});
  await undo(cleanup);
  log.info('stopped');
  await logWriter.flush(logPatienceMs);
  process.exit(0);
}

try {
  const config = loadConfig(process.env);
  assertPortsDiffer(config);
  process.send?.({ type: 'configured' });
  const log = createLog(config.logLevel, logWriter);
  const starting = start(config, log, logWriter, cleanup);
  const onStop = (reason: string) => {
    if (stoppedBy !== undefined) return impatience.abort();
    stoppedBy = reason;
    stopped = stop(log, starting);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onStop);
  // The process that started this one is gone, and with it the terminal.
  process.on('disconnect', () => onStop('disconnect'));
  await starting;
} catch (error) {
  // Stopped as it started: what failed then is of no interest.
  await stopped;
  await undo(cleanup);
  const lines =
    error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : inspect(error)];
  // One line each, whatever a library or a value brings along.
  for (const line of lines)
    process.stderr.write(`gateway: ${line.trim().replaceAll(/\s*[\r\n]\s*/g, ' ')}\n`);
  process.exit(1);
}
