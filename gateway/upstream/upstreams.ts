import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ReadinessProbe } from './readiness-probe.ts';
import {
  countAbsence,
  countAnswer,
  countFailure,
  countMiss,
  createTarget,
  isBetter,
  type Target,
  type TargetState,
} from './target.ts';
import { isOurLack } from './upstream-error.ts';

/** The instances of the service behind the gateway: which one a request goes to, and which ones are left out. */
export interface Upstreams {
  readonly targets: readonly Target[];
  /**
   * The target for one more request: the one with fewest in flight, and of equals each in turn. It counts as in
   * flight there until it is released.
   * @param except none of these
   * @returns undefined where all are left out
   */
  take(except?: ReadonlySet<Target>): Target | undefined;
  release(target: Target): void;
  /**
   * A request had a whole answer, of whatever status: its connections and its process are fine.
   * @param absences what the target had when the request was sent
   */
  succeeded(target: Target, absences: number): void;
  /**
   * A request failed because of the target.
   * @param absences as for `succeeded`
   */
  failed(target: Target, absences: number, error: unknown): void;
  close(): Promise<void>;
}

interface UpstreamsDependencies {
  urls: readonly string[];
  probe: ReadinessProbe;
  log: Logger;
  /** Told at each change, and at first. */
  onState: (origin: string, state: TargetState) => void;
}

const probeMs = 500;

/**
 * Circuit breaker and balancer in one. A target is left out after a few failures in a row, of requests or of
 * probes, and comes back by a probe: no request is risked to find out. Where probes are fine and requests go on
 * failing, it stays away longer each time.
 */
export function createUpstreams({ urls, probe, log, onState }: UpstreamsDependencies): Upstreams {
  const targets = urls.map(createTarget);
  const closing = new AbortController();
  let turn = 0;

  for (const target of targets) {
    onState(target.origin, target.state);
    void watch(target);
  }

  async function watch(target: Target): Promise<void> {
    while (!closing.signal.aborted) {
      await probeOnce(target);
      await sleep(probeMs, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }

  /** Never rejects. */
  async function probeOnce(target: Target): Promise<void> {
    const { answered, absences } = target;
    const stale = () => closing.signal.aborted || target.absences !== absences;
    try {
      const state = await probe.ask(target.origin);
      if (!stale()) heardFrom(target, state);
    } catch (error) {
      if (stale() || target.state === 'away' || isOurLack(error)) return;
      // Busy, perhaps so much so that the probe had to wait: but it answers.
      if (target.answered !== answered) return;
      const others = targets.some((other) => other !== target && other.state === 'ready');
      if (countMiss(target, others)) leaveOut(target, error);
    }
  }

  function heardFrom(target: Target, state: 'ready' | 'not_ready'): void {
    target.misses = 0;
    if (target.state === 'away') {
      if (state === 'not_ready') return;
      target.probesToPass -= 1;
      if (target.probesToPass > 0) return;
    }
    become(target, state);
  }

  function leaveOut(target: Target, error: unknown): void {
    countAbsence(target);
    become(target, 'away', error);
  }

  function become(target: Target, state: TargetState, error?: unknown): void {
    if (target.state === state) return;
    const before = target.state;
    target.state = state;
    onState(target.origin, state);
    const upstream = target.origin;
    if (state === 'away') log.error({ upstream, reason: reasonOf(error) }, 'upstream is left out');
    else if (state === 'not_ready' && before === 'unknown') log.info({ upstream }, 'upstream is starting');
    else if (state === 'not_ready') log.warn({ upstream }, 'upstream says that it is not ready');
    else if (target.everReady) log.warn({ upstream }, 'upstream is ready again');
    else log.info({ upstream }, 'upstream is ready');
    if (state === 'ready') target.everReady = true;
  }

  return {
    targets,
    take(except) {
      let best: Target | undefined;
      let place = turn;
      for (let step = 0; step < targets.length; step += 1) {
        const index = (turn + step) % targets.length;
        const target = targets[index];
        if (target === undefined || target.state === 'away' || except?.has(target) === true) continue;
        if (best !== undefined && !isBetter(target, best)) continue;
        best = target;
        place = index;
      }
      // Behind the chosen one: what is left out must not give its turns to its neighbour.
      turn = (place + 1) % targets.length;
      if (best !== undefined) best.inFlight += 1;
      return best;
    },
    release(target) {
      target.inFlight -= 1;
    },
    succeeded(target, absences) {
      // Of before it was left out: it says nothing about how it is now.
      if (target.absences !== absences) return;
      countAnswer(target);
      if (target.state === 'unknown') become(target, 'ready');
    },
    failed(target, absences, error) {
      if (target.absences !== absences || target.state === 'away') return;
      if (!countFailure(target)) return;
      leaveOut(target, error);
      // Perhaps it was but a moment. Not so where it has come back in vain.
      if (target.vainReturns === 0) void probeOnce(target);
    },
    async close() {
      closing.abort();
      await probe.close();
    },
  };
}

/** In words alone: errors of the HTTP parser hold what came over the wire. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses were tried.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const { message } = first instanceof Error ? first : error;
  return error.cause === undefined ? message : `${message} ${reasonOf(error.cause)}`;
}
