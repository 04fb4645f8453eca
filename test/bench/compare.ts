import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkOut, withoutContortion } from './checkout.ts';
import { baseline, thisGateway, type Contender } from './contenders.ts';
import { cpuSecondsOf } from './cpu-time.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop } from './load.ts';
import { positiveInteger } from './options.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import {
  assertStatuses,
  startContender,
  UnexpectedStatuses,
  type RunningContender,
} from './running-contender.ts';
import { scenarioNamed, type Scenario } from './scenarios.ts';

/*
 * Compares the CPU time of a request of this gateway with that of another version. Pairs of one process of each run side
 * by side on one core, one pair after another.
 *
 * npm run bench:compare -- <commit>: with another commit.
 * npm run bench:compare -- --without <name>: with these sources after a patch of ablations/, which takes a contortion for
 * speed out of them.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Two processes of the same version differ by some percent, so more pairs narrow the interval. */
    pairs: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '1' },
    scenario: { type: 'string', multiple: true, default: ['hot-key', 'many-keys', 'refused', 'banned'] },
    without: { type: 'string' },
    /** Setting of both, as NAME=VALUE. */
    env: { type: 'string', multiple: true, default: [] },
  },
});
const { without } = options;
const [commit] = positionals;
if (positionals.length > 1 || (commit === undefined) === (without === undefined)) {
  throw new Error(
    'usage: npm run bench:compare -- <commit>, or -- --without <name of a patch in ablations/>',
  );
}
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);
const pairs = positiveInteger('pairs', options.pairs);
const selected = options.scenario.map(scenarioNamed);
const env = Object.fromEntries(
  options.env.map((setting) => {
    const [name = '', ...value] = setting.split('=');
    if (value.length === 0) throw new Error(`--env ${setting} is not NAME=VALUE`);
    return [name, value.join('=')];
  }),
);

/** V8 compiles on the only core. */
const jitWarmUpSeconds = 30;
const warmUpSeconds = 3;

/** Microseconds of CPU time that a request takes in each of two processes. */
type MicrosOfEach = readonly [this: number, other: number];

/**
 * Loads two gateways at the same time, which share one core. Another virtual machine on the same hardware makes a core up
 * to twice as slow within seconds; here that happens to both alike, so that their ratio stays. In turn, it would not.
 * Once more if Redis was silent for so long meanwhile that a gateway decided alone, which a machine that stands still does.
 * @throws UnexpectedStatuses for the second time
 */
async function sampleTogether(...args: Parameters<typeof sample>): Promise<MicrosOfEach> {
  try {
    return await sample(...args);
  } catch (error) {
    if (error instanceof UnexpectedStatuses) return sample(...args);
    throw error;
  }
}

async function sample(
  fixture: Fixture,
  scenario: Scenario,
  [first, second]: readonly [RunningContender, RunningContender],
  seconds: number,
): Promise<MicrosOfEach> {
  const measure = async (contender: RunningContender) => {
    const { pid } = contender.process;
    const before = await cpuSecondsOf(pid);
    const { directory } = fixture;
    const load = await closedLoop({
      directory,
      port: contender.port,
      script: scenario.script(fixture),
      seconds,
    });
    return { load, micros: (((await cpuSecondsOf(pid)) - before) / sum(Object.values(load.statuses))) * 1e6 };
  };
  const [own, other] = await Promise.all([measure(first), measure(second)]);
  assertStatuses(scenario, first, own.load);
  assertStatuses(scenario, second, other.load);
  return [own.micros, other.micros];
}

/** Samples of one pair by the name of the scenario. */
type PairSamples = ReadonlyMap<string, readonly MicrosOfEach[]>;

/** The process that starts first needs up to a tenth more CPU time, so that must not always be the same version. */
async function measurePair(
  fixture: Fixture,
  [own, other]: readonly [Contender, Contender],
  isOtherFirst: boolean,
  progress: string,
): Promise<PairSamples> {
  await using stack = new AsyncDisposableStack();
  const first = await startContender(isOtherFirst ? other : own, fixture, stack);
  const second = await startContender(isOtherFirst ? own : other, fixture, stack);
  const pair = isOtherFirst ? ([second, first] as const) : ([first, second] as const);
  const samples = new Map<string, MicrosOfEach[]>();
  for (const scenario of selected) {
    process.stderr.write(`\r\x1b[K${progress}, ${scenario.name}`);
    await sampleTogether(fixture, scenario, pair, samples.size === 0 ? jitWarmUpSeconds : warmUpSeconds);
    const ofScenario: MicrosOfEach[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      ofScenario.push(await sampleTogether(fixture, scenario, pair, seconds));
    }
    samples.set(scenario.name, ofScenario);
  }
  return samples;
}

/** Quantiles of Student's t for 97.5 %, by degrees of freedom from 1 on. */
const studentT = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];
const normalQuantile = 1.96;

/**
 * Geometric mean of independent ratios: one of each pair of processes, since processes of one build differ by more than
 * the samples of a process do. Its 95 % confidence interval is that of the mean of their logarithms; one ratio has none.
 */
function meanRatio(ratios: readonly number[]): string {
  const logarithms = ratios.map(Math.log);
  const mean = sum(logarithms) / ratios.length;
  const freedom = ratios.length - 1;
  if (freedom === 0) return `**${Math.exp(mean).toFixed(3)}**`;
  const variance = sum(logarithms.map((value) => (value - mean) ** 2)) / freedom;
  const margin = (studentT[freedom - 1] ?? normalQuantile) * Math.sqrt(variance / ratios.length);
  const [ratio, low, high] = [mean, mean - margin, mean + margin].map((each) => Math.exp(each).toFixed(3));
  return `**${ratio}** (${low}–${high})`;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function row({ name }: Scenario, samples: readonly PairSamples[]): string[] {
  const ofPairs = samples.map((each) => each.get(name) ?? []);
  const micros = (index: 0 | 1) => median(ofPairs.flat().map((sample) => sample[index])).toFixed(1);
  const ratioOf = (pair: readonly MicrosOfEach[]) => median(pair.map(([first, second]) => first / second));
  return [name, meanRatio(ofPairs.map(ratioOf)), micros(0), micros(1)];
}

async function main(): Promise<void> {
  await using fixture = await setUpBench();
  const directory = join(fixture.directory, 'other');
  if (without === undefined) await checkOut(commit ?? '', directory);
  else await withoutContortion(without, directory);
  const other = without === undefined ? `${commit}` : `these sources without ${without}`;
  const versions = [thisGateway('this', env), { ...baseline(directory, env), name: other }] as const;
  const samples: PairSamples[] = [];
  for (let index = 1; index <= pairs; index += 1) {
    samples.push(await measurePair(fixture, versions, index % 2 === 0, `pair ${index} of ${pairs}`));
  }
  process.stderr.write('\r\x1b[K');
  const title = `CPU time of a request, of that of ${other} (95 % confidence)`;
  process.stdout.write(
    `${environmentLine()}; ${pairs} pairs of processes, ${rounds} samples of ${seconds} s of each pair${options.env.map((setting) => `; ${setting}`).join('')}\n\n`,
  );
  const rows = selected.map((scenario) => row(scenario, samples));
  process.stdout.write(`${markdownTable(['scenario', title, 'µs', 'µs, other'], rows)}\n`);
}

await main();
