import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Agent, buildConnector, Pool, request, type Dispatcher } from 'undici';
import { isLocalResourceError } from './upstream-error.ts';

export type Upstreams = ReturnType<typeof createUpstreams>;

interface UpstreamsDependencies {
  urls: readonly string[];
  /** Connections to each instance. */
  connections: number;
  /** Path that is 503 while an instance is not ready. */
  readiness: string;
  log: Logger;
  /** Called at each change of a state, and with the first one. */
  onState: (origin: string, state: TargetState) => void;
}

const probeMs = 500;
const maxFailures = 5;
const maxProbeFailures = 2;
const maxProbeFailuresAlone = 4;
const maxProbeFailuresAtStart = 10;
/** Each failed recovery doubles the number of probes, up to this one: eight seconds. */
const maxProbesToPass = 16;
/**
 * Time from its addition in which a target that was never ready is taken to be starting. Services that start together need it:
 * one may create its database first.
 */
const startTimeoutMs = 60_000;

/**
 * Load balancer and circuit breaker of the instances of a service.
 * A target is ejected after a few consecutive failures of requests or probes. Only probes bring it back, so that no
 * request is risked to find out. If requests go on failing while probes succeed, it stays ejected longer each time.
 */
export function createUpstreams({ urls, connections, readiness, log, onState }: UpstreamsDependencies) {
  const probe = createReadinessProbe(readiness);
  const targets: readonly Target[] = urls.map((url) => createTarget(url, connections));
  const closing = new AbortController();
  /** Index of the target that is next in turn. */
  let turn = 0;

  async function watch(target: Target): Promise<void> {
    while (!closing.signal.aborted) {
      await probeOnce(target);
      await sleep(probeMs, undefined, { ref: false, signal: closing.signal }).catch(() => {});
    }
  }

  /** Never rejects. */
  async function probeOnce(target: Target): Promise<void> {
    const { completed, epoch } = target;
    const isStale = () => closing.signal.aborted || target.epoch !== epoch;
    try {
      const state = await probe.check(target.origin);
      if (!isStale()) probeSucceeded(target, state);
    } catch (error) {
      if (isStale() || isLocalResourceError(error)) return;
      if (target.state === 'down') {
        if (target.isStarting && !mayBeStarting(target)) logDown(target, error);
        return;
      }
      // Busy, perhaps so much that the probe had to wait, but it completes requests.
      if (target.completed !== completed) return;
      target.probeFailures += 1;
      // Without another ready target, ejecting this one early helps nobody: it, or this process, may be busy for a moment,
      // and services that start together need time.
      const hasOthers = targets.some((other) => other !== target && other.state === 'ready');
      const alone = target.everReady ? maxProbeFailuresAlone : maxProbeFailuresAtStart;
      if (target.probeFailures >= (hasOthers ? maxProbeFailures : alone)) eject(target, error);
    }
  }

  function probeSucceeded(target: Target, state: 'ready' | 'not_ready'): void {
    target.probeFailures = 0;
    if (target.state === 'down') {
      if (state === 'not_ready') return;
      target.probesToPass -= 1;
      if (target.probesToPass > 0) return;
    }
    setState(target, state);
  }

  /** Begins a new epoch. */
  function eject(target: Target, error: unknown): void {
    target.epoch += 1;
    target.failedRecoveries = target.recovered ? 0 : target.failedRecoveries + 1;
    target.probesToPass = Math.min(2 ** target.failedRecoveries, maxProbesToPass);
    target.recovered = false;
    target.failures = 0;
    target.probeFailures = 0;
    setState(target, 'down', error);
  }

  function setState(target: Target, state: TargetState, error?: unknown): void {
    if (target.state === state) return;
    target.state = state;
    onState(target.origin, state);
    const upstream = target.origin;
    if (state === 'down') logDown(target, error);
    else if (state === 'not_ready' && mayBeStarting(target)) log.info({ upstream }, 'upstream is starting');
    else if (state === 'not_ready') log.warn({ upstream }, 'upstream is not ready');
    else if (target.everReady) log.warn({ upstream }, 'upstream is ready again');
    else log.info({ upstream }, 'upstream is ready');
    if (state === 'ready') target.everReady = true;
  }

  const mayBeStarting = (target: Target) =>
    !target.everReady && performance.now() < target.addedAtMs + startTimeoutMs;

  function logDown(target: Target, error: unknown): void {
    const fields = { upstream: target.origin, reason: describeCauses(error) };
    target.isStarting = mayBeStarting(target);
    if (target.isStarting) log.info(fields, 'upstream does not respond yet; waiting for it to start');
    else log.error(fields, 'upstream is down and ejected');
  }

  for (const target of targets) {
    onState(target.origin, target.state);
    void watch(target);
  }
  return {
    targets,
    /**
     * Chooses the target with the fewest requests in flight, and of equal ones each in turn. The request counts as in
     * flight there until `release`.
     * @param except targets that must not be chosen
     * @returns undefined if all others are ejected
     */
    take(except?: ReadonlySet<Target>): Target | undefined {
      let best: Target | undefined;
      let ordinal = turn;
      for (let step = 0; step < targets.length; step += 1) {
        const index = (turn + step) % targets.length;
        const target = targets[index];
        if (target === undefined || target.state === 'down' || except?.has(target) === true) continue;
        if (best !== undefined && !isPreferred(target, best)) continue;
        best = target;
        ordinal = index;
      }
      // The turn moves behind the chosen target: an ejected one must not give its turns to its neighbour.
      turn = (ordinal + 1) % targets.length;
      if (best !== undefined) best.inFlight += 1;
      return best;
    },
    release(target: Target): void {
      target.inFlight -= 1;
    },
    /**
     * Reports a complete response, whatever its status: the target's connections and its process work.
     * @param epoch of the target when the request was sent
     */
    succeeded(target: Target, epoch: number, sentAtMs: number): void {
      if (target.epoch !== epoch) return;
      target.completed += 1;
      target.succeededSentAtMs = Math.max(target.succeededSentAtMs, sentAtMs);
      target.failures = 0;
      target.recovered = true;
      if (target.state === 'unknown') setState(target, 'ready');
    },
    /** Reports a request that failed because of the target. */
    failed(target: Target, epoch: number, sentAtMs: number, error: unknown): void {
      if (target.epoch !== epoch || target.state === 'down') return;
      // If a request that was sent later has succeeded, the target works: what failed was one connection, which may have
      // been dead for long.
      if (sentAtMs < target.succeededSentAtMs) return;
      target.failures += 1;
      // The first failure since a recovery is one too many.
      if (target.failures < (target.recovered ? maxFailures : 1)) return;
      eject(target, error);
      // It may have been down for a moment only. Not so after a failed recovery.
      if (target.failedRecoveries === 0) void probeOnce(target);
    },
    async close(): Promise<void> {
      closing.abort();
      await Promise.all([probe.close(), ...targets.map(({ pool }) => pool.destroy())]);
    },
  };
}

/** Messages alone: errors of the HTTP parser also hold bytes of the response. */
function describeCauses(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // An AggregateError has one error for each address that was tried.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  const { message } = first instanceof Error ? first : error;
  return error.cause === undefined ? message : `${message} ${describeCauses(error.cause)}`;
}

/**
 * - unknown: nothing known yet; used until requests fail there
 * - ready: used
 * - not_ready: says so itself, because it starts or drains; used only if there is no other
 * - down: does not respond, or responds with nothing valid; ejected
 */
export type TargetState = 'unknown' | 'ready' | 'not_ready' | 'down';

export type Target = ReturnType<typeof createTarget>;

/** One instance of the service behind the gateway, and what is known of it. */
function createTarget(url: string, connections: number) {
  const { origin, hostname, port } = new URL(url);
  return {
    /** Such as http://127.0.0.1:3001. */
    origin,
    hostname,
    port,
    /** Not an agent for all instances, which would look for the pool of each request. */
    pool: createUpstreamPool(origin, connections),
    state: 'unknown' as TargetState,
    /** Time at which this gateway began to use it. */
    addedAtMs: performance.now(),
    /** Whether it has been ready since then. */
    everReady: false,
    /** Whether it is down and was reported as starting only. */
    isStarting: false,
    /** Requests that were sent to it and are not settled yet. */
    inFlight: 0,
    /** Requests with a complete response, ever. */
    completed: 0,
    /** Time at which the latest of the requests was sent that have a complete response. */
    succeededSentAtMs: 0,
    /** Consecutive requests that failed because of it. */
    failures: 0,
    /** Consecutive failed probes. */
    probeFailures: 0,
    /** Raised at each ejection. The outcome of a request from an earlier epoch says nothing about the target now. */
    epoch: 0,
    /** Whether it has completed a request since its last ejection. */
    recovered: true,
    /** Consecutive recoveries after which no request succeeded. */
    failedRecoveries: 0,
    /** Successful probes that are still needed before it is used again. */
    probesToPass: 0,
  };
}

/** Whether a request goes to the target rather than to the other one. */
function isPreferred(target: Target, other: Target): boolean {
  const notReady = target.state === 'not_ready';
  if (notReady !== (other.state === 'not_ready')) return !notReady;
  return target.inFlight < other.inFlight;
}

const connectTimeoutMs = 2000;
/**
 * Maximum idle time, whatever the upstream allows. Far shorter than services keep an idle connection, and short because a
 * connection whose other end has vanished looks idle.
 */
const keepAliveMs = 5000;

/** Creates the connections to an instance of a service. @param connections maximum number */
function createUpstreamPool(origin: string, connections: number): Dispatcher {
  const connect = buildConnector({ timeout: connectTimeoutMs });
  return new Pool(origin, {
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    connect: (options, callback) =>
      connect(options, (...outcome) => {
        // Before undici's own listener, which reads the code.
        if (outcome[0] === null) outcome[1].on('error', renameReset);
        callback(...outcome);
        if (outcome[0] === null) skipContinue(outcome[1]);
      }),
  });
}

/**
 * A body without a length ends with its connection. undici takes a reset for such an end, too (its client-h1.js, because
 * of macOS), so that half a response looks whole; it knows the reset by its code alone.
 */
function renameReset(error: Error & { code?: unknown }): void {
  if (error.code === 'ECONNRESET') error.code = 'UND_ERR_SOCKET';
}

interface Parser {
  onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number;
}

/**
 * undici closes the connection on a 100 (Continue), for which it never asks, but skips other interim responses. A client
 * must be able to parse one that it does not expect (RFC 9110 section 15.2), so its parser is told that it is a 102. The
 * parser is not part of undici's interface; without it, a 100 is a 502 again.
 */
function skipContinue(socket: Socket): void {
  const symbol = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'parser');
  const parser: unknown = symbol === undefined ? undefined : Reflect.get(socket, symbol);
  if (!isParser(parser)) return;
  const onHeadersComplete = parser.onHeadersComplete.bind(parser);
  parser.onHeadersComplete = (status, upgrade, keepAlive) =>
    onHeadersComplete(status === 100 ? 102 : status, upgrade, keepAlive);
}

function isParser(value: unknown): value is Parser {
  return typeof value === 'object' && value !== null && 'onHeadersComplete' in value;
}

/** A service may need half a second to say that its database does not respond. */
const probeTimeoutMs = 1000;

/**
 * Checks whether an instance is ready for requests, by a request for a path, which needs no token, on a new connection each time: a
 * kept one would not show that nobody listens any more. Any status but 503 counts as ready, since not every server has that path.
 */
function createReadinessProbe(path: string) {
  const dispatcher = new Agent({ connect: { timeout: probeTimeoutMs }, pipelining: 0 });
  return {
    /** Rejects if no complete response arrives in time. */
    async check(origin: string): Promise<'ready' | 'not_ready'> {
      const signal = AbortSignal.timeout(probeTimeoutMs);
      const { statusCode, body } = await request(origin + path, { dispatcher, signal });
      await body.dump();
      // undici ends an incomplete body silently when the time is over.
      signal.throwIfAborted();
      return statusCode === 503 ? 'not_ready' : 'ready';
    },
    close: () => dispatcher.destroy(),
  };
}
