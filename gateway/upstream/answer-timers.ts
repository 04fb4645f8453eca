/** An answer that the upstream owes. */
export interface AwaitedAnswer {
  /** Called when the time is over. @returns whether the answer is given the same time once more */
  onTimeout(): boolean;
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

export function createAnswerTimers(timeoutMs: number): AnswerTimers {
  /** In order of their start. */
  const startedAt = new Map<AwaitedAnswer, number>();
  let sweeper: NodeJS.Timeout | undefined;

  function start(answer: AwaitedAnswer): void {
    startedAt.delete(answer);
    startedAt.set(answer, performance.now());
    sweeper ??= setInterval(sweep, Math.max(1, timeoutMs * lateness)).unref();
  }

  function sweep(): void {
    const latest = performance.now() - timeoutMs;
    for (const [answer, startMs] of startedAt) {
      if (startMs > latest) break;
      startedAt.delete(answer);
      if (answer.onTimeout()) start(answer);
    }
    if (startedAt.size > 0) return;
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return {
    start,
    stop(answer) {
      startedAt.delete(answer);
    },
  };
}
