import { checkHistory } from './check-history.ts';
import type { History, Violation } from './history.ts';
import { makeSchedule, mostGateways } from './make-schedule.ts';
import { runOn } from './run-schedule.ts';
import type { Schedule } from './schedule.ts';
import { startSystem } from './system.ts';

export interface SeedResult {
  seed: number;
  schedule: Schedule;
  history: History;
  violations: Violation[];
}

interface RunSeedsOptions {
  /** Such as `7`, or `1-20`. */
  seeds: string;
  /** Schedules that run at the same time, on a system a shard: most of the time they wait. */
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
    if (next > last) return;
    await using system = await startSystem(mostGateways, sources);
    while (next <= last) {
      const seed = next;
      next += 1;
      const schedule = makeSchedule({ seed, lengthMs });
      const history = await runOn(system, schedule);
      await onResult({ seed, schedule, history, violations: checkHistory(history) });
    }
  }
  await Promise.all(Array.from({ length: shards }, runShard));
}
