import cluster, { type Worker } from 'node:cluster';
import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { choosePort } from '#runtime/choose-port.ts';
import type { Shutdown } from '#runtime/lifecycle.ts';
import type { Logger } from 'pino';
import { publicEndpoint, type InstanceConfig } from '../config/instance-config.ts';
import type { Metrics } from '../observability/metrics.ts';
import {
  statusKeptMs,
  type GatewayIdentity,
  type ProcessStatus,
  type ReloadState,
} from '../observability/process-status.ts';
import type { Health, Reload, Service } from '../service.ts';
import { describeServices } from '../services/describe-services.ts';
import { watchHandover } from './handover.ts';
import { mergeHealth } from './merge-health.ts';
import { addCounts, renderMetrics, type MetricsSnapshot } from './merge-metrics.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { createCounterExchange } from './shared-counters.ts';

const tickMs = 1000;
/** Ticks without a message after which a worker hangs. */
const hangTicks = 15;
/** The same for a worker that is starting, which may take long on a busy machine. */
const startHangTicks = 60;
/** Maximum time that metrics wait for a busy worker; then its last snapshot is used. */
const metricsTimeoutMs = 1000;
/** Time for workers to exit after a forced close. */
const forcedExitMs = 2000;
/** A worker that exits earlier than this has failed at its start, or soon after because of it. */
const settledMs = 10_000;
const firstRestartDelayMs = 250;
const maxRestartDelayMs = 30_000;
/** Times of restarts that are remembered for consoles. */
const maxRestartTimes = 20;

/** A worker process and its last reports. */
interface WorkerState {
  readonly worker: Worker;
  readonly startedAtMs: number;
  /** Consecutive workers before this one that exited too early. */
  readonly failures: number;
  listening: boolean;
  silentTicks: number;
  health: Health | undefined;
  statuses: ProcessStatus[];
  metrics: MetricsSnapshot;
  /** Called when a metrics snapshot arrives. */
  onMetrics: (() => void)[];
  failure: string | undefined;
  readonly closeHandedOver: () => void;
}

interface PrimaryDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  gateway: GatewayIdentity;
  reloadState: ReloadState;
  /** Called with a request of `ops services reload`, again and again while it is in Redis. */
  onReloadRequest: (request: string) => void;
  log: Logger;
  /** Metrics of this process; those of the workers are added. */
  metrics: Metrics;
}

/**
 * Starts the workers that serve requests, and replaces workers that exit or hang. node:cluster accepts connections here
 * and hands them to the workers in turn; a connection that a closing worker can't accept goes to another one.
 */
export function createPrimary(dependencies: PrimaryDependencies): Service {
  const { gateway, onReloadRequest, log, metrics } = dependencies;
  let { config, reloadState } = dependencies;
  const workers = new Map<number, WorkerState>();
  let privateKeyPem = pemOf(dependencies.privateKey);
  const started = Promise.withResolvers<void>();
  const allExited = Promise.withResolvers<void>();
  const counters = createCounterExchange((id, elsewhere) => {
    const state = workers.get(id);
    if (state !== undefined) send(state, { type: 'counters', elsewhere });
  });
  /** Counts of workers that have exited. */
  let pastMetrics: MetricsSnapshot = [];
  let { port } = config;
  let phase: 'starting' | 'running' | 'draining' = 'starting';

  // Overrides NODE_CLUSTER_SCHED_POLICY: with the other policy, a worker that closes loses connections.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: fileURLToPath(new URL('worker.ts', import.meta.url)), args: [] });

  /** Counts ticks of this process and not time: if the whole machine stood still, no worker hangs. */
  const ticker = setInterval(() => {
    for (const state of workers.values()) {
      state.silentTicks += 1;
      if (state.silentTicks <= (state.listening ? hangTicks : startHangTicks)) continue;
      state.silentTicks = 0;
      log.error(logFields(state), 'worker does not respond; killing it');
      state.worker.process.kill('SIGKILL');
    }
  }, tickMs);

  const servingWorkers = () => Array.from(workers.values()).filter(({ listening }) => listening);

  function send({ worker }: WorkerState, message: ToWorker): void {
    if (worker.isConnected()) worker.send(message, undefined, () => {});
  }

  function sendToAll(message: ToWorker): void {
    for (const state of workers.values()) send(state, message);
  }

  function startWorker(failures: number): void {
    if (phase === 'draining') return;
    const worker = cluster.fork();
    const state: WorkerState = {
      worker,
      startedAtMs: performance.now(),
      failures,
      listening: false,
      silentTicks: 0,
      health: undefined,
      statuses: [],
      metrics: [],
      onMetrics: [],
      failure: undefined,
      closeHandedOver: watchHandover(worker),
    };
    workers.set(worker.id, state);
    worker.on('message', (message: FromWorker) => onMessage(state, message));
    worker.on('exit', (code: number | null, signal: string | null) => {
      const end = signal ?? `exit code ${code}`;
      // Its last messages may not have been read yet.
      if (worker.isConnected()) worker.once('disconnect', () => removeWorker(state, end));
      else removeWorker(state, end);
    });
    worker.on('error', (error: Error) => {
      // Without a process there is no exit event.
      if (worker.process.pid === undefined) removeWorker(state, error.message);
    });
    send(state, { type: 'start', config: { ...config, port }, gateway, privateKeyPem, reloadState });
    counters.workerJoined(worker.id);
  }

  function onMessage(state: WorkerState, message: FromWorker): void {
    state.silentTicks = 0;
    switch (message.type) {
      case 'listening':
        state.listening = true;
        log.info(logFields(state), 'worker is ready');
        if (servingWorkers().length === config.workers) started.resolve();
        break;
      case 'failed':
        state.failure = message.reason;
        break;
      case 'alive':
        state.health = message.health;
        state.statuses = message.statuses;
        break;
      case 'metrics':
        state.metrics = message.metrics;
        for (const resolve of state.onMetrics.splice(0)) resolve();
        break;
      case 'counters':
        counters.countsReported(state.worker.id, message.own);
        break;
      case 'reload_requested':
        onReloadRequest(message.request);
        break;
    }
  }

  /** @param end signal or exit code */
  function removeWorker(state: WorkerState, end: string): void {
    if (!workers.delete(state.worker.id)) return;
    counters.workerLeft(state.worker.id);
    pastMetrics = addCounts(pastMetrics, state.metrics);
    for (const resolve of state.onMetrics) resolve();
    const expected = phase === 'draining' && end === 'exit code 0';
    if (!expected)
      log.error({ ...logFields(state), end, reason: state.failure }, 'worker exited unexpectedly');
    switch (phase) {
      case 'starting':
        started.reject(new Error(state.failure ?? `a worker exited at its start (${end})`));
        break;
      case 'running':
        state.closeHandedOver();
        replaceWorker(state);
        break;
      case 'draining':
        if (workers.size === 0) allExited.resolve();
        break;
    }
  }

  /** Replaces a worker at once, or with a growing delay if workers exit early again and again. */
  function replaceWorker({ startedAtMs, failures }: WorkerState): void {
    metrics.workerRestarts.inc();
    rememberRestart();
    if (performance.now() - startedAtMs > settledMs) return startWorker(0);
    if (failures === 0) return startWorker(1);
    const delayMs = Math.min(firstRestartDelayMs * 2 ** (failures - 1), maxRestartDelayMs);
    setTimeout(() => startWorker(failures + 1), delayMs);
  }

  /** Workers are told when they start, so the replacement publishes it. */
  function rememberRestart(): void {
    const since = new Date(Date.now() - statusKeptMs).toISOString();
    gateway.restartedAt = [
      ...gateway.restartedAt.filter((at) => at > since).slice(-maxRestartTimes + 1),
      new Date().toISOString(),
    ];
  }

  async function refreshMetrics(state: WorkerState): Promise<void> {
    const received = new Promise<void>((resolve) => state.onMetrics.push(resolve));
    send(state, { type: 'send_metrics' });
    await Promise.race([received, sleep(metricsTimeoutMs, undefined, { ref: false })]);
  }

  /** Workers that start later get the same files. */
  function reload({ files, state }: Reload): void {
    // Workers take what they are sent.
    if (files !== undefined) describeServices(files.services, files.api);
    reloadState = state;
    if (files === undefined) return sendToAll({ type: 'reload', files, state });
    const { privateKey, ...others } = files;
    privateKeyPem = pemOf(privateKey);
    config = { ...config, ...others };
    sendToAll({ type: 'reload', files: { ...others, privateKeyPem }, state });
  }

  async function drain({ delayMs, force }: Shutdown): Promise<void> {
    phase = 'draining';
    sendToAll({ type: 'drain', delayMs });
    const forceClose = () => {
      sendToAll({ type: 'force_close' });
      setTimeout(() => {
        for (const { worker } of workers.values()) worker.process.kill('SIGKILL');
      }, forcedExitMs).unref();
    };
    if (force.aborted) forceClose();
    else force.addEventListener('abort', forceClose);
    if (workers.size > 0) await allExited.promise;
  }

  return {
    async listen() {
      // All workers need the same port, also those that are started later.
      port = await choosePort(publicEndpoint(config));
      for (let count = 0; count < config.workers; count += 1) startWorker(0);
      await started.promise;
      phase = 'running';
      return port;
    },
    health() {
      const ready = servingWorkers().length;
      const status = phase === 'draining' ? phase : phase === 'running' && ready > 0 ? 'ok' : 'starting';
      const healths = Array.from(workers.values(), ({ health }) => health ?? []).flat();
      return { status, ...mergeHealth(healths), workers: { ready, wanted: config.workers } };
    },
    statuses: async () => Array.from(workers.values(), ({ statuses }) => statuses).flat(),
    async metrics() {
      await Promise.all(servingWorkers().map(refreshMetrics));
      const own = await metrics.registry.getMetricsAsJSON();
      return renderMetrics([own, pastMetrics, ...servingWorkers().map((state) => state.metrics)]);
    },
    reload,
    drain,
    async close() {
      // Workers may be left over from a start that failed.
      await drain({ delayMs: 0, force: AbortSignal.abort() });
      clearInterval(ticker);
    },
  };
}

const pemOf = (privateKey: KeyObject) => privateKey.export({ type: 'pkcs8', format: 'pem' });

const logFields = ({ worker }: WorkerState) => ({ worker: worker.id, pid: worker.process.pid });
