import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { chartOf } from './chart.ts';
import { checkHistory } from './check-history.ts';
import { embeddedFaults, startEmbeddedSystem } from './embedded-system.ts';
import { makeSchedule } from './make-schedule.ts';
import { describeViolations, summarize } from './report.ts';
import { runOn } from './run-schedule.ts';
import { describeSchedule } from './schedule.ts';

/*
 * npm run chaos: disturbs what `npm start` starts, on embedded stores, checks what clients saw, and draws it.
 */

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '1' },
    svg: { type: 'string' },
  },
});
const seed = Number(values.seed);
const path = values.svg ?? `.data/chaos-${seed}.svg`;
const schedule = makeSchedule({
  seed,
  lengthMs: Number(values.minutes) * 60_000,
  gateways: 1,
  kinds: embeddedFaults,
});
console.log(describeSchedule(schedule).join('\n'));
await using system = await startEmbeddedSystem();
const history = await runOn(system, schedule);
const violations = checkHistory(history);
console.log(summarize(history, violations));
if (violations.length > 0) {
  console.log(describeViolations(history, violations));
  process.exitCode = 1;
}
await mkdir(dirname(path), { recursive: true });
await writeFile(path, chartOf(history));
console.log(`drawn in ${path}`);
