import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkOut, withoutContortion } from './checkout.ts';
import { baseline, thisGateway, type Contender } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { positiveInteger } from './options.ts';
import { formatRatio, meanRatio } from './ratio.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import { startContender } from './running-contender.ts';
import { scenarioNamed, type Scenario } from './scenarios.ts';
import { ratioOfPair, sampleTogether, type MicrosOfEach } from './side-by-side.ts';

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

function row({ name }: Scenario, samples: readonly PairSamples[]): string[] {
  const ofPairs = samples.map((each) => each.get(name) ?? []);
  const micros = (index: 0 | 1) => median(ofPairs.flat().map((sample) => sample[index])).toFixed(1);
  return [name, formatRatio(meanRatio(ofPairs.map(ratioOfPair))), micros(0), micros(1)];
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
