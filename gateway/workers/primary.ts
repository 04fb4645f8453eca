import cluster, { type Worker } from 'node:cluster';
import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import type { Health } from '../admin/admin-app.ts';
import { publicEndpoint, type InstanceConfig, type Service } from '../instance.ts';
import type { Metrics } from '../observability/metrics.ts';
import { choosePort } from '../runtime/listen.ts';
import { watchHandover } from './handover.ts';
import { mergeHealth } from './merge-health.ts';
import { addCounts, renderMetrics, type MetricsSnapshot } from './merge-metrics.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { createCountExchange } from './shared-counters.ts';

const tickMs = 1000;
/** A worker that has not been heard of for so long hangs. */
const patienceTicks = 15;
/** The same while it starts, which may take long on a busy machine. */
const startPatienceTicks = 60;
/** How long metrics wait for a worker that is busy; then what it said last has to do. */
const metricsPatienceMs = 1000;
/** What workers may take to end once nothing is waited for any more. */
const endPatienceMs = 2000;
/** A worker that lives for less ended as it started, or because of what it met at once. */
const settledMs = 10_000;
const firstDelayMs = 250;
const maxDelayMs = 30_000;

/** A worker process, and what it has said last. */
interface Member {
  readonly worker: Worker;
  readonly startedAtMs: number;
  /** Workers before it, in its place, that ended too soon; in a row. */
  readonly failures: number;
  listening: boolean;
  silentTicks: number;
  health: Health | undefined;
  metrics: MetricsSnapshot;
  /** Called when it tells its metrics. */
  onMetrics: (() => void)[];
  failure: string | undefined;
  readonly closeHandedOver: () => void;
}

interface PrimaryDependencies {
  config: InstanceConfig;
  privateKey: KeyObject;
  log: Logger;
  /** Of this process: those of the workers are added. */
  metrics: Metrics;
}

/**
 * Starts the workers that serve requests, and replaces those that end or hang. node:cluster takes connections here and
 * hands them to the workers in turn: one that a worker can't take any more, since it closes, goes to another.
 */
export function createPrimary({ config, privateKey, log, metrics }: PrimaryDependencies): Service {
  const members = new Map<number, Member>();
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const started = Promise.withResolvers<void>();
  const allEnded = Promise.withResolvers<void>();
  const counts = createCountExchange((id, elsewhere) => {
    const member = members.get(id);
    if (member !== undefined) tell(member, { type: 'counts', elsewhere });
  });
  /** What workers counted that have ended. */
  let past: MetricsSnapshot = [];
  let port = config.port;
  let phase: 'starting' | 'running' | 'draining' = 'starting';

  // Whatever NODE_CLUSTER_SCHED_POLICY says: in the other way, a worker that closes loses connections.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ exec: fileURLToPath(new URL('worker.ts', import.meta.url)), args: [] });

  /** In ticks of our own: where the whole machine stood still, no worker is to blame. */
  const ticker = setInterval(() => {
    for (const member of members.values()) {
      member.silentTicks += 1;
      if (member.silentTicks <= (member.listening ? patienceTicks : startPatienceTicks)) continue;
      member.silentTicks = 0;
      log.error(nameOf(member), 'a worker hangs and is killed');
      member.worker.process.kill('SIGKILL');
    }
  }, tickMs);

  const serving = () => Array.from(members.values()).filter(({ listening }) => listening);

  function tell({ worker }: Member, message: ToWorker): void {
    // Should it be gone, its end says so.
    if (worker.isConnected()) worker.send(message, undefined, () => {});
  }

  function tellAll(message: ToWorker): void {
    for (const member of members.values()) tell(member, message);
  }

  function launch(failures: number): void {
    if (phase === 'draining') return;
    const worker = cluster.fork();
    const member: Member = {
      worker,
      startedAtMs: performance.now(),
      failures,
      listening: false,
      silentTicks: 0,
      health: undefined,
      metrics: [],
      onMetrics: [],
      failure: undefined,
      closeHandedOver: watchHandover(worker),
    };
    members.set(worker.id, member);
    worker.on('message', (message: FromWorker) => hear(member, message));
    worker.on('exit', (code: number | null, signal: string | null) => {
      const end = signal ?? `exit code ${code}`;
      // Its last words may not have been read yet.
      if (worker.isConnected()) worker.once('disconnect', () => bury(member, end));
      else bury(member, end);
    });
    worker.on('error', (error: Error) => {
      // There was no process to be had, and so none that could exit.
      if (worker.process.pid === undefined) bury(member, error.message);
    });
    tell(member, { type: 'start', config: { ...config, port }, privateKeyPem });
    counts.joined(worker.id);
  }

  function hear(member: Member, message: FromWorker): void {
    member.silentTicks = 0;
    switch (message.type) {
      case 'listening':
        member.listening = true;
        log.info(nameOf(member), 'a worker serves');
        if (serving().length === config.workers) started.resolve();
        break;
      case 'failed':
        member.failure = message.reason;
        break;
      case 'alive':
        member.health = message.health;
        break;
      case 'metrics':
        member.metrics = message.metrics;
        for (const resolve of member.onMetrics.splice(0)) resolve();
        break;
      case 'counts':
        counts.heard(member.worker.id, message.own);
        break;
    }
  }

  /** @param end signal or exit code */
  function bury(member: Member, end: string): void {
    if (!members.delete(member.worker.id)) return;
    counts.left(member.worker.id);
    past = addCounts(past, member.metrics);
    for (const resolve of member.onMetrics) resolve();
    const expected = phase === 'draining' && end === 'exit code 0';
    if (!expected) log.error({ ...nameOf(member), end, reason: member.failure }, 'a worker has ended');
    switch (phase) {
      case 'starting':
        started.reject(new Error(member.failure ?? `a worker ended as it started (${end})`));
        break;
      case 'running':
        member.closeHandedOver();
        replace(member);
        break;
      case 'draining':
        if (members.size === 0) allEnded.resolve();
        break;
    }
  }

  /** At once, unless workers end again and again. */
  function replace({ startedAtMs, failures }: Member): void {
    metrics.workerRestarts.inc();
    if (performance.now() - startedAtMs > settledMs) return launch(0);
    if (failures === 0) return launch(1);
    const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);
    setTimeout(() => launch(failures + 1), delayMs);
  }

  async function freshMetrics(member: Member): Promise<void> {
    const told = new Promise<void>((resolve) => member.onMetrics.push(resolve));
    tell(member, { type: 'ask_metrics' });
    await Promise.race([told, sleep(metricsPatienceMs, undefined, { ref: false })]);
  }

  async function drain(delayMs: number, cutOff: AbortSignal): Promise<void> {
    phase = 'draining';
    tellAll({ type: 'drain', delayMs });
    const cut = () => {
      tellAll({ type: 'cut_off' });
      setTimeout(() => {
        for (const { worker } of members.values()) worker.process.kill('SIGKILL');
      }, endPatienceMs).unref();
    };
    if (cutOff.aborted) cut();
    else cutOff.addEventListener('abort', cut);
    if (members.size > 0) await allEnded.promise;
  }

  return {
    async listen() {
      // All workers need the same one, those that are started later too.
      port = await choosePort(publicEndpoint(config));
      for (let count = 0; count < config.workers; count += 1) launch(0);
      await started.promise;
      phase = 'running';
      return port;
    },
    health() {
      const ready = serving().length;
      const status = phase === 'draining' ? phase : phase === 'running' && ready > 0 ? 'ok' : 'starting';
      const healths = Array.from(members.values(), ({ health }) => health ?? []).flat();
      return { status, ...mergeHealth(healths), workers: { ready, wanted: config.workers } };
    },
    async metrics() {
      await Promise.all(serving().map(freshMetrics));
      const own = await metrics.registry.getMetricsAsJSON();
      return renderMetrics([own, past, ...serving().map((member) => member.metrics)]);
    },
    drain,
    async close() {
      // Those that are left over from a start that failed.
      await drain(0, AbortSignal.abort());
      clearInterval(ticker);
    },
  };
}

const nameOf = ({ worker }: Member) => ({ worker: worker.id, pid: worker.process.pid });
