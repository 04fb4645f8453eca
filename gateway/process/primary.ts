import cluster, { type Worker } from 'node:cluster';
import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Shutdown } from '#runtime/lifecycle.ts';
import type { Health } from '../control/status/service.ts';
import { choosePort, publicEndpoint } from '../platform/config/endpoints.ts';
import type { InstanceConfig } from '../platform/config/instance-config.ts';
import { statusKeptMs } from '../platform/redis/process-statuses.ts';
import { watchHandover } from './handover.ts';
import type { InstanceDependencies } from './instance.ts';
import {
  addCounts,
  mergeHealth,
  renderMetrics,
  type FromWorker,
  type MetricsSnapshot,
  type ToWorker,
} from './worker-messages.ts';

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
/** Time in which clients learn from `Connection: close` that a worker leaves, before idle connections are closed. */
const leavingDelayMs = 2000;

/** A worker process and its last reports. */
interface WorkerState {
  readonly worker: Worker;
  readonly startedAtMs: number;
  /** Consecutive workers before this one that exited too early. */
  readonly failures: number;
  /** A successor is to replace a serving worker, which then leaves: it drains. */
  part: 'serving' | 'successor' | 'leaving';
  listening: boolean;
  /** Whether it listens; false if it has exited before. */
  readonly ready: PromiseWithResolvers<boolean>;
  silentTicks: number;
  health: Health | undefined;
  metrics: MetricsSnapshot;
  /** Called when a metrics snapshot arrives. */
  onMetrics: (() => void)[];
  failure: string | undefined;
  readonly closeHandedOver: () => void;
}

/** What workers serve with, and what files hold. */
export type WorkerFiles = Pick<InstanceConfig, 'services' | 'api' | 'limits'> & {
  privateKey: KeyObject;
};

export type ReplaceWorkers = ReturnType<typeof createPrimary>['replaceWorkers'];

/** Metrics are those of this process, to which those of the workers are added. */
type PrimaryDependencies = Omit<InstanceDependencies, 'worker' | 'logRequest' | 'tracing'>;

/**
 * Starts the workers that serve requests, and replaces workers that exit or hang. node:cluster accepts connections here
 * and hands them to the workers in turn; a connection that a closing worker can't accept goes to another one.
 */
export function createPrimary(dependencies: PrimaryDependencies) {
  const { gateway, log, metrics } = dependencies;
  let { config, privateKey } = dependencies;
  const workers = new Map<number, WorkerState>();
  const started = Promise.withResolvers<void>();
  const allExited = Promise.withResolvers<void>();
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

  const isLeaving = ({ part }: WorkerState) => part === 'leaving';
  const listeningWorkers = () => Array.from(workers.values()).filter(({ listening }) => listening);
  const servingWorkers = () => listeningWorkers().filter((state) => !isLeaving(state));
  const stayingWorkers = () => Array.from(workers.values()).filter((state) => !isLeaving(state));

  function send({ worker }: WorkerState, message: ToWorker): void {
    if (worker.isConnected()) worker.send(message, undefined, () => {});
  }

  function sendToAll(message: ToWorker): void {
    for (const state of workers.values()) send(state, message);
  }

  function startWorker(failures: number, part: WorkerState['part'] = 'serving'): WorkerState {
    const worker = cluster.fork();
    const state: WorkerState = {
      worker,
      startedAtMs: performance.now(),
      failures,
      part,
      listening: false,
      ready: Promise.withResolvers(),
      silentTicks: 0,
      health: undefined,
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
    const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    send(state, { type: 'start', config: { ...config, port }, gateway, privateKeyPem });
    return state;
  }

  function onMessage(state: WorkerState, message: FromWorker): void {
    state.silentTicks = 0;
    switch (message.type) {
      case 'listening':
        state.listening = true;
        state.ready.resolve(true);
        log.info(logFields(state), 'worker is ready');
        if (servingWorkers().length === config.workers) started.resolve();
        break;
      case 'failed':
        state.failure = message.reason;
        break;
      case 'alive':
        state.health = message.health;
        break;
      case 'metrics':
        state.metrics = message.metrics;
        for (const resolve of state.onMetrics.splice(0)) resolve();
        break;
    }
  }

  /** @param end signal or exit code */
  function removeWorker(state: WorkerState, end: string): void {
    if (!workers.delete(state.worker.id)) return;
    pastMetrics = addCounts(pastMetrics, state.metrics);
    for (const resolve of state.onMetrics) resolve();
    state.ready.resolve(false);
    const expected = (phase === 'draining' || isLeaving(state)) && end === 'exit code 0';
    if (!expected)
      log.error({ ...logFields(state), end, reason: state.failure }, 'worker exited unexpectedly');
    switch (phase) {
      case 'starting':
        started.reject(new Error(state.failure ?? `a worker exited at its start (${end})`));
        break;
      case 'running':
        state.closeHandedOver();
        if (state.part === 'serving') restartWorker(state);
        break;
      case 'draining':
        if (workers.size === 0) allExited.resolve();
        break;
    }
  }

  /** Starts another one at once, or with a growing delay if workers exit early again and again. */
  function restartWorker({ startedAtMs, failures }: WorkerState): void {
    metrics.workerRestarts.inc();
    const since = new Date(Date.now() - statusKeptMs).toISOString();
    const recent = gateway.restartedAt.filter((at) => at > since).slice(-maxRestartTimes + 1);
    // Workers are told when they start, so the replacement publishes it.
    gateway.restartedAt = [...recent, new Date().toISOString()];
    const isEarly = performance.now() - startedAtMs <= settledMs;
    if (!isEarly || failures === 0) return void startWorker(isEarly ? 1 : 0);
    const delayMs = Math.min(firstRestartDelayMs * 2 ** (failures - 1), maxRestartDelayMs);
    setTimeout(() => {
      if (phase === 'running') startWorker(failures + 1);
    }, delayMs);
  }

  async function refreshMetrics(state: WorkerState): Promise<void> {
    const received = new Promise<void>((resolve) => state.onMetrics.push(resolve));
    send(state, { type: 'send_metrics' });
    await Promise.race([received, sleep(metricsTimeoutMs, undefined, { ref: false })]);
  }

  /**
   * Replaces the workers one by one: when a new one is ready, an old one finishes its requests and exits. Workers that
   * start later have the same files.
   * @throws Error if a new worker does not start: the others go on
   */
  async function replaceWorkers({ privateKey: nextKey, ...files }: WorkerFiles): Promise<void> {
    const before = { config, privateKey };
    config = { ...config, ...files };
    privateKey = nextKey;
    let replaced = 0;
    for (const old of stayingWorkers()) {
      // If it has exited, the one that was started for it has the new files.
      if (!workers.has(old.worker.id)) continue;
      if (phase !== 'running') throw new Error('the gateway stops');
      const next = startWorker(0, 'successor');
      if (!(await next.ready.promise)) {
        if (replaced === 0) ({ config, privateKey } = before);
        throw new Error(next.failure ?? 'a new worker exited at its start');
      }
      next.part = 'serving';
      // If the old one has exited meanwhile, another one was started in its place, with the new files as well.
      const surplus = workers.has(old.worker.id) ? old : next;
      surplus.part = 'leaving';
      send(surplus, { type: 'drain', delayMs: leavingDelayMs });
      replaced += 1;
    }
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
    health(): Health {
      const ready = servingWorkers().length;
      const status = phase === 'draining' ? phase : phase === 'running' && ready > 0 ? 'ok' : 'starting';
      const healths = stayingWorkers().flatMap(({ health }) => health ?? []);
      return { status, ...mergeHealth(healths), workers: { ready, wanted: config.workers } };
    },
    async metrics() {
      await Promise.all(listeningWorkers().map(refreshMetrics));
      const own = await metrics.registry.getMetricsAsJSON();
      const past = listeningWorkers()
        .filter(isLeaving)
        .reduce((counts, state) => addCounts(counts, state.metrics), pastMetrics);
      return renderMetrics([own, past, ...servingWorkers().map((state) => state.metrics)]);
    },
    replaceWorkers,
    drain,
    async close() {
      // Workers may be left over from a start that failed.
      await drain({ delayMs: 0, force: AbortSignal.abort() });
      clearInterval(ticker);
    },
  };
}

const logFields = ({ worker }: WorkerState) => ({ worker: worker.id, pid: worker.process.pid });
