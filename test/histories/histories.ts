import { parseArgs } from 'node:util';
import { checkHistory } from './check-history.ts';
import type { History, Violation } from './history.ts';
import { describeViolations, summarize } from './report.ts';
import { runSchedule } from './run-schedule.ts';
import { describeSchedule, makeSchedule, type Schedule } from './schedule.ts';
import { shrink } from './shrink.ts';

/*
 * npm run histories: runs schedules of clients, operators and faults on real processes, and checks what clients saw.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1-5' },
    seconds: { type: 'string', default: '20' },
    tries: { type: 'string', default: '10' },
    /** Another copy of the sources. */
    sources: { type: 'string' },
  },
});
const lengthMs = Number(values.seconds) * 1000;
const [first = 1, last = first] = (values.seed ?? values.seeds).split('-').map(Number);

async function runAndCheck(schedule: Schedule): Promise<{ history: History; violations: Violation[] }> {
  const history = await runSchedule(schedule, values.sources);
  return { history, violations: checkHistory(history) };
}

for (let seed = first; seed <= last; seed += 1) {
  const schedule = makeSchedule({ seed, lengthMs });
  const { history, violations } = await runAndCheck(schedule);
  console.log(`seed ${seed}: ${summarize(history, violations)}`);
  if (violations.length === 0) continue;
  process.exitCode = 1;
  console.log(describeViolations(history, violations));
  const broken = new Set(violations.map(({ promise }) => promise));
  const fails = async (shorter: Schedule) =>
    (await runAndCheck(shorter)).violations.some(({ promise }) => broken.has(promise));
  const { schedule: shortest, tries } = await shrink(schedule, fails, Number(values.tries));
  console.log(`\nstill fails after ${tries} shorter runs:`);
  console.log(describeSchedule(shortest).join('\n'));
  console.log(`\nagain: npm run histories -- --seed ${seed} --seconds ${values.seconds}\n`);
}
