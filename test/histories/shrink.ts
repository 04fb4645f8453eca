import type { Schedule } from './schedule.ts';

type Part = 'faults' | 'changes' | 'clients';

/** A schedule without some of its events, clients, and keys that nobody uses then. */
function without(schedule: Schedule, part: Part, from: number, count: number): Schedule {
  const shorter = { ...schedule, [part]: schedule[part].toSpliced(from, count) };
  const used = new Set([
    ...shorter.clients.map(({ key }) => key),
    ...shorter.changes.flatMap((change) => ('key' in change ? [change.key] : [])),
  ]);
  return { ...shorter, keys: shorter.keys.filter(({ name }) => used.has(name)) };
}

/**
 * Drops events and clients while the schedule still fails: first halves, then quarters, then single ones (delta debugging).
 * @param fails runs a schedule, and tells whether it fails
 * @param maxTries bound of the runs
 */
export async function shrink(
  schedule: Schedule,
  fails: (shorter: Schedule) => Promise<boolean>,
  maxTries: number,
): Promise<{ schedule: Schedule; tries: number }> {
  let best = schedule;
  let tries = 0;
  for (const part of ['faults', 'changes', 'clients'] as const) {
    for (
      let size = Math.ceil(best[part].length / 2);
      size >= 1;
      size = size === 1 ? 0 : Math.ceil(size / 2)
    ) {
      for (let from = 0; from < best[part].length && tries < maxTries;) {
        const shorter = without(best, part, from, size);
        // Without clients there is no history.
        if (shorter.clients.length > 0) {
          tries += 1;
          if (await fails(shorter)) {
            best = shorter;
            continue;
          }
        }
        from += size;
      }
    }
  }
  return { schedule: best, tries };
}
