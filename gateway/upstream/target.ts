/**
 * - unknown: nothing known yet; used until requests fail there
 * - ready: used
 * - not_ready: says so itself, because it starts or drains; used only if there is no other
 * - down: does not respond, or responds with nothing valid; ejected
 */
export type TargetState = 'unknown' | 'ready' | 'not_ready' | 'down';

/** One instance of the service behind the gateway, and what is known of it. */
export interface Target {
  /** Such as http://127.0.0.1:3001. Its parts below are what http-proxy-middleware expects of a target. */
  readonly origin: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
  state: TargetState;
  /** Time at which this gateway began to use it. */
  readonly addedAtMs: number;
  /** Whether it has been ready since then. */
  everReady: boolean;
  /** Whether it is down and was reported as starting only. */
  isStarting: boolean;
  /** Requests that were sent to it and are not settled yet. */
  inFlight: number;
  /** Requests with a complete response, ever. */
  completed: number;
  /** Time at which the latest of the requests was sent that have a complete response. */
  succeededSentAtMs: number;
  /** Consecutive requests that failed because of it. */
  failures: number;
  /** Consecutive failed probes. */
  probeFailures: number;
  /** Raised at each ejection. The outcome of a request from an earlier epoch says nothing about the target now. */
  epoch: number;
  /** Whether it has completed a request since its last ejection. */
  recovered: boolean;
  /** Consecutive recoveries after which no request succeeded. */
  failedRecoveries: number;
  /** Successful probes that are still needed before it is used again. */
  probesToPass: number;
}

export function createTarget(url: string): Target {
  const { origin, protocol, hostname, port } = new URL(url);
  return {
    origin,
    protocol,
    hostname,
    port,
    state: 'unknown',
    addedAtMs: performance.now(),
    everReady: false,
    isStarting: false,
    inFlight: 0,
    completed: 0,
    succeededSentAtMs: 0,
    failures: 0,
    probeFailures: 0,
    epoch: 0,
    recovered: true,
    failedRecoveries: 0,
    probesToPass: 0,
  };
}

const maxFailures = 5;
const maxProbeFailures = 2;
const maxProbeFailuresAlone = 4;
const maxProbeFailuresAtStart = 10;
/** Each failed recovery doubles the number of probes, up to this one: eight seconds. */
const maxProbesToPass = 16;

/**
 * A failure does not count if a request that was sent later has succeeded: the target works, and what failed was one
 * connection, which may have been dead for long.
 * @returns whether the target has to be ejected: after too many failures, or after the first one since a recovery
 */
export function countFailure(target: Target, sentAtMs: number): boolean {
  if (sentAtMs < target.succeededSentAtMs) return false;
  target.failures += 1;
  return target.failures >= (target.recovered ? maxFailures : 1);
}

/**
 * Without another ready target, ejecting this one early helps nobody: it, or this process, may be busy for a moment, and
 * services that start together need time.
 * @param others whether another target is ready
 * @returns whether the target has to be ejected
 */
export function countProbeFailure(target: Target, others: boolean): boolean {
  target.probeFailures += 1;
  if (others) return target.probeFailures >= maxProbeFailures;
  return target.probeFailures >= (target.everReady ? maxProbeFailuresAlone : maxProbeFailuresAtStart);
}

export function countSuccess(target: Target, sentAtMs: number): void {
  target.completed += 1;
  target.succeededSentAtMs = Math.max(target.succeededSentAtMs, sentAtMs);
  target.failures = 0;
  target.recovered = true;
}

/** Begins a new epoch. Called at each ejection. */
export function countEjection(target: Target): void {
  target.epoch += 1;
  target.failedRecoveries = target.recovered ? 0 : target.failedRecoveries + 1;
  target.probesToPass = Math.min(2 ** target.failedRecoveries, maxProbesToPass);
  target.recovered = false;
  target.failures = 0;
  target.probeFailures = 0;
}

/** Whether a request goes to the target rather than to the other one. */
export function isPreferred(target: Target, other: Target): boolean {
  const notReady = target.state === 'not_ready';
  if (notReady !== (other.state === 'not_ready')) return !notReady;
  return target.inFlight < other.inFlight;
}
