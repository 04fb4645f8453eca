import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../support/http/free-port.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startCalibration, type Calibration } from './calibration.ts';
import { checkOut } from './checkout.ts';
import { baseline, contenders, type Contender } from './contenders.ts';
import { busySecondsOf, cpuTimeOf } from './cpu-time.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop } from './load.ts';
import { positiveInteger } from './options.ts';
import { cores } from './pinned-process.ts';
import { ratioOf, type ProcessSamples } from './ratio.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import { assertStatuses, measureAlone, shuffleForRound, type RunningContender } from './running-contender.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/*
 * npm run bench:compare -- <commit> compares the CPU time of a request of this gateway with that of another commit, by
 * short samples in turn on one core.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '1' },
    /** Of each version: two processes of the same version differ. */
    processes: { type: 'string', default: '3' },
    scenario: { type: 'string', multiple: true, default: ['hot-key', 'many-keys', 'refused', 'banned'] },
  },
});
const [commit] = positionals;
if (commit === undefined || positionals.length > 1)
  throw new Error('usage: npm run bench:compare -- <commit>');
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);
const processes = positiveInteger('processes', options.processes);
const selected = options.scenario.map((name) => {
  const scenario = scenarios.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`unknown scenario ${name}`);
  return scenario;
});

/** As in bench.ts; V8 compiles on the only core. */
const jitWarmUpSeconds = 20;
const warmUpSeconds = 3;
/** Share of the core that other processes may take in a sample. */
const disturbance = 0.03;
const maxAttempts = 5;

type Version = 'this' | 'other';
type RunningVersion = RunningContender & { version: Version };

interface Sample {
  /** CPU time of a request, divided by that of the calibration. */
  relative: number;
  micros: number;
  systemShare: number;
}

async function measure(
  fixture: Fixture,
  scenario: Scenario,
  running: RunningVersion,
  calibration: Calibration,
  duration: number,
) {
  const { directory } = fixture;
  const pid = running.process.pid;
  const calibratedBefore = await calibration.measure();
  const [cpuBefore, busyBefore] = [await cpuTimeOf(pid), await busySecondsOf(cores.contender)];
  const load = await closedLoop({
    directory,
    url: `http://127.0.0.1:${running.port}`,
    script: scenario.script(fixture),
    connections: scenario.connections,
    seconds: duration,
  });
  const [cpu, busy] = [await cpuTimeOf(pid), await busySecondsOf(cores.contender)];
  const calibrated = (calibratedBefore + (await calibration.measure())) / 2;
  assertStatuses(scenario, running, load);
  const total = cpu.total - cpuBefore.total;
  const perRequest = total / (load.requestsPerSecond * duration);
  const sample: Sample = {
    relative: perRequest / calibrated,
    micros: perRequest * 1e6,
    systemShare:
      (cpu.system - cpuBefore.system) / (cpu.user - cpuBefore.user + cpu.system - cpuBefore.system),
  };
  return { sample, others: (busy - busyBefore - total) / duration };
}

/** Repeats a sample in which other processes used the core. */
async function measureUndisturbed(
  fixture: Fixture,
  scenario: Scenario,
  running: RunningVersion,
  calibration: Calibration,
): Promise<Sample | undefined> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const { sample, others } = await measureAlone(running, () =>
      measure(fixture, scenario, running, calibration, seconds),
    );
    if (others <= disturbance) return sample;
    await sleep(500);
  }
  return undefined;
}

async function compare(
  fixture: Fixture,
  scenario: Scenario,
  running: readonly RunningVersion[],
  calibration: Calibration,
  warmUp: number,
): Promise<string[]> {
  const samples = new Map(running.map(({ name }) => [name, [] as Sample[]]));
  for (const version of running) {
    await measureAlone(version, () => measure(fixture, scenario, version, calibration, warmUp));
  }
  let disturbed = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const version of shuffleForRound(round, running)) {
      process.stderr.write(`\r${scenario.name}, round ${round} of ${rounds}: ${version.name}     `);
      const sample = await measureUndisturbed(fixture, scenario, version, calibration);
      if (sample === undefined) disturbed += 1;
      else samples.get(version.name)?.push(sample);
    }
  }
  process.stderr.write('\r\x1b[K');
  const idle = running.find(({ name }) => samples.get(name)?.length === 0);
  if (idle !== undefined) {
    throw new Error(
      `${scenario.name}: other processes used core ${cores.contender} in every sample of ${idle.name}`,
    );
  }
  const of = (version: Version) =>
    running.filter((each) => each.version === version).map(({ name }) => samples.get(name) ?? []);
  const values = (version: Version, field: keyof Sample): ProcessSamples =>
    of(version).map((list) => list.map((sample) => sample[field]));
  const all = (version: Version, field: keyof Sample) => median(values(version, field).flat());
  const { ratio, low, high } = ratioOf(
    values('this', 'relative'),
    values('other', 'relative'),
    // The same samples have the same interval in every run.
    seededRandom(1),
  );
  return [
    scenario.name,
    `**${ratio.toFixed(3)}** (${low.toFixed(3)}–${high.toFixed(3)})`,
    all('this', 'micros').toFixed(1),
    all('other', 'micros').toFixed(1),
    `${(100 * all('this', 'systemShare')).toFixed(0)} %`,
    `${(100 * all('other', 'systemShare')).toFixed(0)} %`,
    String(disturbed),
  ];
}

async function main(other: string): Promise<void> {
  await using fixture = await setUpBench();
  await using stack = new AsyncDisposableStack();
  const directory = join(fixture.directory, 'other');
  await checkOut(other, directory);
  const own = contenders.find(({ name }) => name === 'gateway');
  if (own === undefined) throw new Error('there is no contender gateway');
  const versions: [Version, Contender][] = [
    ['this', own],
    ['other', baseline(directory)],
  ];
  const running: RunningVersion[] = [];
  for (let index = 1; index <= processes; index += 1) {
    for (const [version, contender] of versions) {
      const port = await freePort();
      const process = await contender.start(fixture, port);
      stack.defer(() => process.stop());
      await process.pause();
      running.push({ ...contender, name: `${version} ${index}`, version, process, port });
    }
  }
  const calibration = stack.use(await startCalibration(cores.contender));
  const rows: string[][] = [];
  for (const scenario of selected) {
    const warmUp = rows.length === 0 ? jitWarmUpSeconds : warmUpSeconds;
    rows.push(await compare(fixture, scenario, running, calibration, warmUp));
  }
  const title = `CPU time of a request, of that of ${other} (95 % confidence)`;
  const header = ['scenario', title, 'µs', 'µs, other', 'system', 'system, other', 'samples left out'];
  process.stdout.write(
    `${environmentLine()}; ${processes} processes of each, ${rounds} samples of ${seconds} s of each process\n\n`,
  );
  process.stdout.write(`${markdownTable(header, rows)}\n`);
}

await main(commit);
