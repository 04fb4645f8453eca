import cluster from 'node:cluster';
import { createPrivateKey } from 'node:crypto';
import { messageOf } from '../errors.ts';
import { createInstance, type Service } from '../instance.ts';
import { createLog, createRequestLog } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { createLogWriter } from '../runtime/log-writer.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { createSharedCounts, type SharedCounts } from './shared-counters.ts';

/*
 * A worker: one of the processes that serve the requests of a gateway. It does what the primary says, and ends with
 * it. Signals are the primary's: those of a terminal or a supervisor reach all processes, and nobody else is told.
 */

type Start = Extract<ToWorker, { type: 'start' }>;

const aliveMs = 1000;

const { worker } = cluster;
if (worker === undefined) throw new Error('workers are started by gateway/server.ts, see GATEWAY_WORKERS');

const logWriter = createLogWriter();
const metrics = createMetrics({ droppedLogLines: () => logWriter.droppedLines });
const started = Promise.withResolvers<Service>();
const cutOff = new AbortController();
let counts: SharedCounts | undefined;
let shutdownTimeoutMs = 0;
let draining = false;

function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    // Where the primary is gone, nobody needs to know.
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}

async function start({ config, privateKeyPem }: Start): Promise<Service> {
  shutdownTimeoutMs = config.shutdownTimeoutMs;
  counts = createSharedCounts(config.workers, (own) => void tell({ type: 'counts', own }));
  const log = createLog(config.logLevel, logWriter).child({ worker: worker?.id });
  const service = createInstance({
    config,
    privateKey: createPrivateKey(privateKeyPem),
    makeCounts: counts.makeCounts,
    log,
    logRequest: createRequestLog(log, logWriter),
    metrics,
  });
  const port = await service.listen();
  const reportHealth = () => void tell({ type: 'alive', health: service.health() });
  reportHealth();
  setInterval(reportHealth, aliveMs);
  await tell({ type: 'listening', port });
  return service;
}

async function fail(error: unknown): Promise<never> {
  await tell({ type: 'failed', reason: messageOf(error) });
  process.exit(1);
}

async function drain(delayMs: number): Promise<void> {
  if (draining) return;
  draining = true;
  const service = await started.promise;
  const timeUp = AbortSignal.timeout(delayMs + shutdownTimeoutMs);
  await service.drain(delayMs, AbortSignal.any([cutOff.signal, timeUp]));
  await service.close();
  process.exit(0);
}

function hear(message: ToWorker): void {
  switch (message.type) {
    case 'start':
      start(message).then(started.resolve, fail);
      break;
    case 'drain':
      void drain(message.delayMs);
      break;
    case 'cut_off':
      cutOff.abort();
      break;
    case 'ask_metrics':
      void metrics.registry.getMetricsAsJSON().then((metrics) => tell({ type: 'metrics', metrics }));
      break;
    case 'counts':
      counts?.hear(message.elsewhere);
      break;
  }
}

process.on('message', hear);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
worker.on('disconnect', () => {
  // Or node:cluster would end this process at once, requests in flight and all.
  worker.exitedAfterDisconnect = true;
  void drain(0);
});
