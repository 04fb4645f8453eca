/** An answer that the upstream owes. */
export abstract class AwaitedAnswer {
  /** Neighbours among those that are awaited, for AnswerTimers alone. */
  earlier: AwaitedAnswer | undefined;
  later: AwaitedAnswer | undefined;
  /** When its time began; undefined where it is not awaited. */
  awaitedSince: number | undefined;

  /** Called when its time is over. @returns whether it is given the same time once more */
  abstract onTimeout(): boolean;
}

/**
 * Time limit for answers; undici's own is renewed by every interim answer and by every byte. One interval looks after all
 * of them, since a timer for each would cost a request more than it is worth.
 */
export interface AnswerTimers {
  /** Begins anew. */
  start(answer: AwaitedAnswer): void;
  stop(answer: AwaitedAnswer): void;
}

/** How late an answer may be found to be too late, as a share of its time. */
const lateness = 0.02;

/**
 * The answers are a list in order of their start, linked through themselves. In a Map or Set they would outlive their
 * time: V8 copies its table every now and then, and what the old copies hold on to is not collected with the young objects.
 */
export function createAnswerTimers(timeoutMs: number): AnswerTimers {
  let first: AwaitedAnswer | undefined;
  let last: AwaitedAnswer | undefined;
  let sweeper: NodeJS.Timeout | undefined;

  function stop(answer: AwaitedAnswer): void {
    if (answer.awaitedSince === undefined) return;
    const { earlier, later } = answer;
    if (earlier === undefined) first = later;
    else earlier.later = later;
    if (later === undefined) last = earlier;
    else later.earlier = earlier;
    answer.earlier = undefined;
    answer.later = undefined;
    answer.awaitedSince = undefined;
  }

  function start(answer: AwaitedAnswer): void {
    stop(answer);
    answer.awaitedSince = performance.now();
    answer.earlier = last;
    if (last === undefined) first = answer;
    else last.later = answer;
    last = answer;
    sweeper ??= setInterval(sweep, Math.max(1, timeoutMs * lateness)).unref();
  }

  function sweep(): void {
    const latest = performance.now() - timeoutMs;
    while (first !== undefined && (first.awaitedSince ?? 0) <= latest) {
      const answer = first;
      stop(answer);
      if (answer.onTimeout()) start(answer);
    }
    if (first !== undefined) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return { start, stop };
}
