/** When this process last decided without Redis. */
export interface LocalModeTimes {
  /** To be called when local mode begins (true) or ends. */
  changed(local: boolean): void;
  /**
   * Times in ISO 8601; `to` is null while local mode lasts. Null as a whole without a local mode since the start of the
   * process, which itself waits for Redis.
   */
  last(): { from: string; to: string | null } | null;
  /** Since when Redis is unavailable, at the start as well; undefined while it is available. */
  unavailableSince(): string | undefined;
}

/** @param now Unix milliseconds by Redis' clock, as last known */
export function createLocalModeTimes(now: () => number): LocalModeTimes {
  const iso = () => new Date(now()).toISOString();
  const startedAt = iso();
  let everAvailable = false;
  let last: { from: string; to: string | null } | null = null;
  return {
    changed(local) {
      if (local) last = { from: iso(), to: null };
      else if (everAvailable && last !== null) last = { from: last.from, to: iso() };
      everAvailable = true;
    },
    last: () => last,
    unavailableSince() {
      if (!everAvailable) return startedAt;
      return last?.to === null ? last.from : undefined;
    },
  };
}
