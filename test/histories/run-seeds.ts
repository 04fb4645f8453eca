import { checkHistory } from './check-history.ts';
import type { History, Violation } from './history.ts';
import { makeSchedule } from './make-schedule.ts';
import { runSchedule } from './run-schedule.ts';
import type { Schedule } from './schedule.ts';

export interface SeedResult {
  seed: number;
  schedule: Schedule;
  history: History;
  violations: Violation[];
}

interface RunSeedsOptions {
  /** Such as `7`, or `1-20`. */
  seeds: string;
  /** Schedules that run at the same time, each on stores of its own: most of the time they wait. */
  shards: number;
  lengthMs: number;
  /** Another copy of the sources. */
  sources?: string | undefined;
  /** The next schedule of its shard begins when this is done. */
  onResult: (result: SeedResult) => Promise<void>;
}

export async function runSeeds({
  seeds,
  shards,
  lengthMs,
  sources,
  onResult,
}: RunSeedsOptions): Promise<void> {
  const [first = 1, last = first] = seeds.split('-').map(Number);
  let next = first;
  async function runShard(): Promise<void> {
    while (next <= last) {
      const seed = next;
      next += 1;
      const schedule = makeSchedule({ seed, lengthMs });
      const history = await runSchedule(schedule, sources);
      await onResult({ seed, schedule, history, violations: checkHistory(history) });
    }
  }
  await Promise.all(Array.from({ length: shards }, runShard));
}
