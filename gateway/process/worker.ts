import cluster from 'node:cluster';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { errorMessage } from '#runtime/error-message.ts';
import { createLog, createRequestLog, logConsoleLines, type Log } from '#runtime/log.ts';
import type { Service } from '../control/status/service.ts';
import { setKeyPrefix } from '../platform/config/key-prefix.ts';
import { createMetrics } from '../platform/observability/metrics.ts';
import { createInstance, startTracing } from './instance.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/*
 * A worker: one of the processes that serve the requests of a gateway. It follows the primary's messages, and node:cluster ends it with the primary.
 * It ignores signals, which terminals and supervisors send to all processes: the primary handles them.
 */

type StartMessage = Extract<ToWorker, { type: 'start' }>;

const aliveMs = 1000;

const { worker } = cluster;
if (worker === undefined) throw new Error('workers are started by gateway/server.ts, see GATEWAY_WORKERS');

let logging: Log | undefined;
const metrics = createMetrics();
const started = Promise.withResolvers<Service>();
const forced = new AbortController();
let shutdownTimeoutMs = 0;
let draining = false;

function send(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}

async function start({ config, gateway, privateKeyPem }: StartMessage): Promise<Service> {
  setKeyPrefix(config.api.keyPrefix);
  ({ shutdownTimeoutMs } = config);
  logging = createLog(config.logLevel);
  const log = logging.log.child({ worker: worker?.id });
  logConsoleLines(log);
  const service = createInstance({
    config,
    privateKey: createPrivateKey(privateKeyPem),
    gateway,
    worker: worker?.id ?? null,
    log,
    logRequest: createRequestLog(log, logging.writer),
    metrics,
    tracing: await startTracing(config.tracing, log),
  });
  const port = await service.listen();
  const reportHealth = () => send({ type: 'alive', health: service.health() });
  void reportHealth();
  setInterval(() => void reportHealth(), aliveMs);
  await send({ type: 'listening', port });
  return service;
}

async function sendMetrics(): Promise<void> {
  await send({ type: 'metrics', metrics: await metrics.registry.getMetricsAsJSON() });
}

async function fail(error: unknown): Promise<never> {
  await send({ type: 'failed', reason: errorMessage(error) });
  process.exit(1);
}

async function drain(delayMs: number): Promise<void> {
  if (draining) return;
  draining = true;
  const service = await started.promise;
  const timeout = AbortSignal.timeout(delayMs + shutdownTimeoutMs);
  await service.drain({ delayMs, force: AbortSignal.any([forced.signal, timeout]) });
  await service.close();
  await sendMetrics();
  await leave();
  process.exit(0);
}

/** Returns connections that the primary was handing over, for other workers. Exiting would reset them. */
async function leave(): Promise<void> {
  if (worker === undefined || !worker.isConnected()) return;
  const disconnected = once(worker, 'disconnect');
  worker.disconnect();
  await disconnected;
}

function onMessage(message: ToWorker): void {
  switch (message.type) {
    case 'start':
      start(message).then(started.resolve, fail);
      break;
    case 'drain':
      void drain(message.delayMs);
      break;
    case 'force_close':
      forced.abort();
      break;
    case 'send_metrics':
      void sendMetrics();
      break;
  }
}

process.on('message', onMessage);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
