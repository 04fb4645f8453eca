const minuteMs = 60_000;

/**
 * For log lines that would otherwise come with each attempt.
 * @returns whether it is a minute or more since the same was last said to be due
 */
export function createOnceAMinute(): (what: string) => boolean {
  const dueAtMs = new Map<string, number>();
  return function isDue(what) {
    const now = performance.now();
    if (now < (dueAtMs.get(what) ?? 0)) return false;
    dueAtMs.set(what, now + minuteMs);
    return true;
  };
}
