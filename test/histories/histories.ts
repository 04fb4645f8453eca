import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { checkHistory } from './check-history.ts';
import { makeSchedule, mostGateways } from './make-schedule.ts';
import { describeViolations, summarize } from './report.ts';
import { runOn, runSchedule } from './run-schedule.ts';
import { describeSchedule, type Schedule } from './schedule.ts';
import { shrink } from './shrink.ts';
import { startSystem, type System } from './system.ts';

/*
 * npm run histories: runs schedules of clients, operators and faults on real processes, and checks what clients saw.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '5' },
    /** Schedules that run at the same time, on a system a shard: most of the time they wait. */
    shards: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '20' },
    tries: { type: 'string', default: '10' },
    /** Another copy of the sources. */
    sources: { type: 'string' },
  },
});
const { sources, seconds } = values;
const seeds = values.seed ?? (values.seeds.includes('-') ? values.seeds : `1-${values.seeds}`);
await using compiled = await temporaryDirectory();
process.env['NODE_COMPILE_CACHE'] ??= compiled.path;
const startedAt = performance.now();
const failed: number[] = [];
let count = 0;

async function runSeed(seed: number, system: System): Promise<void> {
  const schedule = makeSchedule({ seed, lengthMs: Number(seconds) * 1000 });
  const history = await runOn(system, schedule);
  const violations = checkHistory(history);
  count += 1;
  console.log(`seed ${seed}: ${summarize(history, violations)}`);
  if (violations.length === 0) return;
  process.exitCode = 1;
  failed.push(seed);
  console.log(describeViolations(history, violations));
  const broken = new Set(violations.map(({ promise }) => promise));
  const fails = async (shorter: Schedule) =>
    checkHistory(await runSchedule(shorter, sources)).some(({ promise }) => broken.has(promise));
  const { schedule: shortest, tries } = await shrink(schedule, fails, Number(values.tries));
  console.log(`\nstill fails after ${tries} shorter runs:`);
  console.log(describeSchedule(shortest).join('\n'));
  console.log(`\nagain: npm run histories -- --seed ${seed} --seconds ${seconds}\n`);
}

let [next = 1, last = next] = seeds.split('-').map(Number);
async function runShard(): Promise<void> {
  if (next > last) return;
  await using system = await startSystem(mostGateways, sources);
  while (next <= last) await runSeed(next++, system);
}
await Promise.all(Array.from({ length: Number(values.shards) }, runShard));
const tookSeconds = Math.round((performance.now() - startedAt) / 1000);
console.log(
  `${count} schedules in ${tookSeconds} s, ${failed.length} with violations${failed.length > 0 ? `: ${failed.toSorted((one, other) => one - other).join(' ')}` : ''}`,
);
