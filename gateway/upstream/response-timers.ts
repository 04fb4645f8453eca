/** A response that the upstream has not completed yet. */
export abstract class PendingResponse {
  /** Neighbours in the list of pending responses. Only ResponseTimers uses them. */
  previous: PendingResponse | undefined;
  next: PendingResponse | undefined;
  /** Time at which its timer was started; undefined while it has none. */
  startedAtMs: number | undefined;

  /** Called when the time is over. @returns whether the timer is started once more */
  abstract onTimeout(): boolean;

  /** Called again and again after a fifth of the time. It may stop the timer. */
  abstract onStall(): void;
}

/**
 * Timers of responses. undici's own timeouts are renewed by every interim response and every byte. One interval serves
 * all of them, since a timer for each request costs more than it is worth.
 */
export interface ResponseTimers {
  /** Starts the timer, or restarts it. */
  start(response: PendingResponse): void;
  stop(response: PendingResponse): void;
}

/** Maximum delay of a timeout, as a share of its time. */
const sweepShare = 0.02;

/** Share of the time after which a response stalls. */
const stallShare = 0.2;

/**
 * The responses form a list in order of their start, linked through themselves. In a Map or Set they would live longer
 * than needed: V8 copies its table now and then, and does not collect what old copies refer to with the young objects.
 */
export function createResponseTimers(timeoutMs: number): ResponseTimers {
  let first: PendingResponse | undefined;
  let last: PendingResponse | undefined;
  let sweeper: NodeJS.Timeout | undefined;

  function stop(response: PendingResponse): void {
    if (response.startedAtMs === undefined) return;
    const { previous, next } = response;
    if (previous === undefined) first = next;
    else previous.next = next;
    if (next === undefined) last = previous;
    else next.previous = previous;
    response.previous = undefined;
    response.next = undefined;
    response.startedAtMs = undefined;
  }

  function start(response: PendingResponse): void {
    stop(response);
    response.startedAtMs = performance.now();
    response.previous = last;
    if (last === undefined) first = response;
    else last.next = response;
    last = response;
    sweeper ??= setInterval(sweep, Math.max(1, timeoutMs * sweepShare)).unref();
  }

  function sweep(): void {
    const now = performance.now();
    while (first !== undefined && (first.startedAtMs ?? 0) <= now - timeoutMs) {
      const response = first;
      stop(response);
      if (response.onTimeout()) start(response);
    }
    let stalled = first;
    while (stalled !== undefined && (stalled.startedAtMs ?? 0) <= now - timeoutMs * stallShare) {
      const { next } = stalled;
      stalled.onStall();
      stalled = next;
    }
    if (first !== undefined) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return { start, stop };
}
