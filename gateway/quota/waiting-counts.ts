/** Counts of a process by name that wait to be added to those in Redis, in the order in which they began. */
export interface WaitingCounts<Count> {
  /** The count of a name, made at first. Undefined if too many wait, so that memory stays bounded. */
  get(name: string, make: () => Count): Count | undefined;
  /** Sends the counts that wait longest. @param all also what could wait for the next time */
  report(all?: boolean): Promise<void>;
}

interface WaitingCountsOptions<Count> {
  /** Number of names beyond which further ones are not counted. */
  max: number;
  /** Number of names that are sent together: Redis has other things to do. */
  maxReported: number;
  /** Never rejects: what Redis does not confirm is lost. */
  send: (counts: readonly Count[]) => Promise<void>;
}

export function createWaitingCounts<Count>(options: WaitingCountsOptions<Count>): WaitingCounts<Count> {
  const { max, maxReported, send } = options;
  const waiting = new Map<string, Count>();

  async function report(all = false): Promise<void> {
    const taken = waiting.entries().take(maxReported).toArray();
    for (const [name] of taken) waiting.delete(name);
    await send(taken.map(([, count]) => count));
    if (all && waiting.size > 0) await report(all);
  }

  return {
    get(name, make) {
      let count = waiting.get(name);
      if (count === undefined && waiting.size < max) {
        count = make();
        waiting.set(name, count);
      }
      return count;
    },
    report,
  };
}
