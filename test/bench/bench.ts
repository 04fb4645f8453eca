import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { barChart } from './chart.ts';
import { baseline, contenders } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop, fixedRate, type LoadResult } from './load.ts';
import { positiveInteger } from './options.ts';
import {
  environmentLine,
  latencyTable,
  median,
  resultsDirectory,
  throughputTable,
  writeResults,
  type Row,
} from './report.ts';
import {
  assertStatuses,
  measureAlone,
  shuffleForRound,
  startContender,
  type RunningContender,
} from './running-contender.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/*
 * npm run bench compares all contenders. Each runs on one core, its dependencies on the other. Only the ratios within
 * one run are comparable: absolute figures depend on the machine and its load.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    scenario: { type: 'string', multiple: true, default: [] },
    contender: { type: 'string', multiple: true, default: [] },
    /** Directory of another checkout. Its gateway runs in every scenario that this one runs in. */
    baseline: { type: 'string' },
  },
});
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);
const allContenders = [
  ...contenders,
  ...(options.baseline === undefined ? [] : [baseline(resolve(options.baseline))]),
];
const ownScenarios = scenarios.filter(({ contenders: names }) => names?.length !== 0);
assertKnown('scenario', ownScenarios);
assertKnown('contender', allContenders);

function assertKnown(name: 'scenario' | 'contender', known: readonly { name: string }[]): void {
  const unknown = options[name].find((wanted) => !known.some((each) => each.name === wanted));
  if (unknown === undefined) return;
  throw new Error(`unknown ${name} ${unknown}; must be one of ${known.map((each) => each.name).join(', ')}`);
}

const warmUpSeconds = 2;
/** V8 needs this long to compile the hot code, since it compiles on the contender's only core. */
const jitWarmUpSeconds = 20;
const ours = 'gateway';

interface Sample extends LoadResult {
  cpuPer10k: number;
}

async function measure(
  fixture: Fixture,
  scenario: Scenario,
  contender: RunningContender,
  duration: number,
): Promise<Sample> {
  const before = await contender.process.cpuSeconds();
  const measured = await closedLoop({
    directory: fixture.directory,
    port: contender.port,
    script: scenario.script(fixture),
    seconds: duration,
  });
  const cpuSeconds = (await contender.process.cpuSeconds()) - before;
  assertStatuses(scenario, contender, measured);
  return { ...measured, cpuPer10k: (cpuSeconds / (measured.requestsPerSecond * duration)) * 10_000 };
}

function summarize(title: string, name: string, samples: readonly Sample[]): Row {
  const medianOf = (field: Exclude<keyof Sample, 'statuses'>) =>
    median(samples.map((sample) => sample[field]));
  const rates = samples.map(({ requestsPerSecond }) => requestsPerSecond);
  return {
    name,
    title,
    requestsPerSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50: medianOf('p50'),
    p99: medianOf('p99'),
    p999: medianOf('p999'),
    cpuPer10k: medianOf('cpuPer10k'),
  };
}

const warmedUp = new Set<string>();

function participates({ contenders: names }: Scenario, name: string): boolean {
  return names?.includes(name === 'baseline' ? ours : name) ?? true;
}

async function measureThroughput(
  fixture: Fixture,
  scenario: Scenario,
  running: readonly RunningContender[],
): Promise<Row[]> {
  const participants = running.filter(({ name }) => participates(scenario, name));
  const samples = new Map<string, Sample[]>(participants.map(({ name }) => [name, []]));
  for (const contender of participants) {
    const needsCompilation = contender.isNode && !warmedUp.has(contender.name);
    const duration = needsCompilation ? jitWarmUpSeconds : warmUpSeconds;
    warmedUp.add(contender.name);
    await measureAlone(contender, () => measure(fixture, scenario, contender, duration));
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of shuffleForRound(round, participants)) {
      const sample = await measureAlone(contender, () => measure(fixture, scenario, contender, seconds));
      samples.get(contender.name)?.push(sample);
      process.stderr.write(`\r${scenario.name}, round ${round} of ${rounds}: ${contender.name}          `);
    }
  }
  process.stderr.write('\r\x1b[K');
  const [own = [], baseline = []] = [samples.get(ours), samples.get('baseline')];
  if (baseline.length > 0) process.stdout.write(`${compareRounds(own, baseline)}\n\n`);
  return participants.map(({ name, title }) => summarize(title, name, samples.get(name) ?? []));
}

/** Medians of the ratios of each round: what else the machine does changes from round to round, and meets both alike. */
function compareRounds(own: readonly Sample[], baseline: readonly Sample[]): string {
  const ratio = (field: 'requestsPerSecond' | 'cpuPer10k') => {
    const ratios = own.map((sample, round) => sample[field] / (baseline[round]?.[field] ?? Number.NaN));
    const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
    return `${median(ratios).toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
  };
  return `This gateway / the other checkout, by round: rate ${ratio('requestsPerSecond')}, CPU time ${ratio('cpuPer10k')}`;
}

async function measureLatency(
  fixture: Fixture,
  running: readonly RunningContender[],
  requestsPerSecond: number,
): Promise<Row[]> {
  const participants = running.filter(({ name }) => ['direct', ours, 'baseline', 'nginx-lua'].includes(name));
  const samples = new Map<string, Sample[]>(participants.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of shuffleForRound(round, participants)) {
      const url = `http://127.0.0.1:${contender.port}/v1/pets?limit=2`;
      const { directory, hotKey: key } = fixture;
      const measured = await measureAlone(contender, () =>
        fixedRate({ directory, url, key, requestsPerSecond, seconds }),
      );
      samples.get(contender.name)?.push({ ...measured, cpuPer10k: 0 });
    }
  }
  return participants.map(({ name, title }) => summarize(title, name, samples.get(name) ?? []));
}

async function main(): Promise<void> {
  const selectedScenarios = ownScenarios.filter(
    ({ name }) => options.scenario.length === 0 || options.scenario.includes(name),
  );
  await using fixture = await setUpBench();
  await using stack = new AsyncDisposableStack();
  const running: RunningContender[] = [];
  const excluded: string[] = [];
  for (const contender of allContenders) {
    const isWanted = contender.name === 'baseline' || options.contender.includes(contender.name);
    if (options.contender.length > 0 && !isWanted) continue;
    if (contender.missing !== undefined) {
      excluded.push(`${contender.title}: ${contender.missing}`);
      continue;
    }
    const started = await startContender(contender, fixture, stack);
    await started.process.pause();
    running.push(started);
  }

  process.stdout.write(
    `${environmentLine()}; ${rounds} rounds of ${seconds} s; medians, range in parentheses.\n\n`,
  );
  const results: Record<string, Row[]> = {};
  for (const scenario of selectedScenarios) {
    const rows = await measureThroughput(fixture, scenario, running);
    results[scenario.name] = rows;
    process.stdout.write(`### ${scenario.title}\n\n${throughputTable(rows, ours)}\n\n`);
  }
  const ourRow = results['hot-key']?.find(({ name }) => name === ours);
  if (ourRow !== undefined) {
    const rate = Math.round(ourRow.requestsPerSecond / 2);
    const rows = await measureLatency(fixture, running, rate);
    results['half-load'] = rows;
    process.stdout.write(
      `### Latency at ${rate} requests/s, half of this gateway's maximum\n\n${latencyTable(rows)}\n\n`,
    );
  }
  for (const line of excluded) process.stdout.write(`Excluded: ${line}\n`);

  // A partial run must not overwrite the results of a full run.
  if (options.scenario.length > 0 || options.contender.length > 0 || options.baseline !== undefined) return;
  await writeResults('latest', results);
  await writeFile(`${resultsDirectory}throughput.svg`, barChart(results['hot-key'] ?? [], ours));
}

await main();
