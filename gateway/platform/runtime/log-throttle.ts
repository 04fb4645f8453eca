const minuteMs = 60_000;

/**
 * Limits log lines that would otherwise repeat with each attempt.
 * @returns a function that returns true at most once a minute for the same subject
 */
export function createLogThrottle(): (subject: string) => boolean {
  const dueAtMs = new Map<string, number>();
  return function isDue(subject) {
    const now = performance.now();
    if (now < (dueAtMs.get(subject) ?? 0)) return false;
    dueAtMs.set(subject, now + minuteMs);
    return true;
  };
}
