import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { withoutContortion } from './checkout.ts';
import { baseline, thisGateway, type Contender } from './contenders.ts';
import { cpuTimeOf } from './cpu-time.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop, fixedRate, type LoadResult } from './load.ts';
import { positiveInteger } from './options.ts';
import { cores, processTree } from './pinned-process.ts';
import { formatRatio, meanRatio } from './ratio.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import { assertStatuses, startContender, type RunningContender } from './running-contender.ts';
import { scenarioNamed, type Scenario } from './scenarios.ts';
import { ratioOfPair, type MicrosOfEach } from './side-by-side.ts';

/*
 * npm run bench:workers compares the CPU time of a request of a gateway with two workers with that of two gateways of one
 * process. Either way one process runs on each core, one of them beside the load generator, and both get the same load.
 * The processes of a pair take turns.
 *
 * npm run bench:workers -- --without <name>: with that of two workers after a patch of ablations/, instead.
 */
const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '4' },
    without: { type: 'string' },
  },
});
const { without } = options;
const pairs = positiveInteger('pairs', options.pairs);
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);

/** V8 compiles on the cores that are measured. */
const warmUpSeconds = 20;

const hotKey = scenarioNamed('hot-key');
/** Each is accepted by the primary and handed to a worker; a gateway of one process accepts it itself. */
const newConnections = scenarioNamed('connections');

/** Two processes that serve, and what else belongs to them. */
interface Group {
  running: readonly [RunningContender, ...RunningContender[]];
  /** Ports of the two generators of load. */
  ports: readonly [number, number];
}

interface Load {
  name: string;
  /** Requests a second for each process; undefined: as many as are served. */
  rate?: number;
  scenario?: Scenario;
}

const loads: readonly Load[] = [
  { name: 'as many as are served' },
  { name: '3,000 a second for each process', rate: 3000 },
  { name: '1,500 a second for each process', rate: 1500 },
  { name: 'as many as are served, ten a connection', scenario: newConnections },
];

async function pin(pid: number, core: number): Promise<void> {
  await promisify(execFile)('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
}

const bothCores = [cores.contender, cores.support] as const;

const environment = { GATEWAY_WORKERS: String(bothCores.length) };

async function startWorkers(
  fixture: Fixture,
  stack: AsyncDisposableStack,
  contender: Contender = thisGateway('workers', environment),
): Promise<Group> {
  const running = await startContender(contender, fixture, stack);
  const [, ...workers] = await processTree(running.process.pid);
  if (workers.length !== bothCores.length) throw new Error(`${workers.length} workers are running`);
  for (const [index, core] of bothCores.entries()) await pin(workers[index] ?? 0, core);
  return { running: [running], ports: [running.port, running.port] };
}

async function startGateways(fixture: Fixture, stack: AsyncDisposableStack): Promise<Group> {
  const start = async (core: number) => {
    const gateway = await startContender(thisGateway(`gateway on core ${core}`), fixture, stack);
    await pin(gateway.process.pid, core);
    return gateway;
  };
  const running = [await start(bothCores[0]), await start(bothCores[1])] as const;
  return { running, ports: [running[0].port, running[1].port] };
}

/** @param generator number of the generator of load, since two run at once */
async function generateLoad(
  fixture: Fixture,
  port: number,
  generator: number,
  { rate, scenario = hotKey }: Load,
  length: number,
): Promise<LoadResult> {
  const directory = join(fixture.directory, `generator-${generator}`);
  await mkdir(directory, { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  if (rate === undefined) {
    return closedLoop({
      directory,
      url,
      script: scenario.script(fixture),
      connections: scenario.connections / 2,
      seconds: length,
    });
  }
  return fixedRate({
    directory,
    url: `${url}/v1/pets?limit=2`,
    key: fixture.hotKey,
    requestsPerSecond: rate,
    seconds: length,
  });
}

/** CPU time of all processes of a group. */
async function cpuSecondsOf({ running }: Group): Promise<number> {
  const pids = await Promise.all(running.map(({ process }) => processTree(process.pid)));
  const times = await Promise.all(pids.flat().map(cpuTimeOf));
  return times.reduce((sum, { total }) => sum + total, 0);
}

/** @returns microseconds of CPU time of a request */
async function sample(fixture: Fixture, group: Group, load: Load, length: number): Promise<number> {
  const before = await cpuSecondsOf(group);
  const results = await Promise.all(
    group.ports.map((port, generator) => generateLoad(fixture, port, generator, load, length)),
  );
  const cpuSeconds = (await cpuSecondsOf(group)) - before;
  for (const result of results) assertStatuses(hotKey, group.running[0], result);
  const requests = results.flatMap(({ statuses }) => Object.values(statuses));
  return (cpuSeconds / requests.reduce((sum, count) => sum + count, 0)) * 1e6;
}

/** Samples of one pair by its load: of the workers, and of the gateways. */
type PairSamples = ReadonlyMap<Load, readonly MicrosOfEach[]>;

/** @param other workers to compare with; undefined: gateways of one process */
async function measurePair(
  fixture: Fixture,
  other: Contender | undefined,
  progress: string,
): Promise<PairSamples> {
  await using stack = new AsyncDisposableStack();
  const workers = await startWorkers(fixture, stack);
  const others =
    other === undefined ? await startGateways(fixture, stack) : await startWorkers(fixture, stack, other);
  for (const group of [workers, others]) await sample(fixture, group, { name: 'warm-up' }, warmUpSeconds);
  const samples = new Map<Load, MicrosOfEach[]>();
  for (const load of loads) {
    const ofLoad: MicrosOfEach[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      process.stderr.write(`\r\x1b[K${progress}, ${load.name}, round ${round} of ${rounds}`);
      const ofWorkers = await sample(fixture, workers, load, seconds);
      ofLoad.push([ofWorkers, await sample(fixture, others, load, seconds)]);
    }
    samples.set(load, ofLoad);
  }
  return samples;
}

async function main(): Promise<void> {
  await using fixture = await setUpBench();
  const directory = join(fixture.directory, 'without');
  if (without !== undefined) await withoutContortion(without, directory);
  const other = without === undefined ? undefined : baseline(directory, environment);
  const samples: PairSamples[] = [];
  for (let index = 1; index <= pairs; index += 1) {
    samples.push(await measurePair(fixture, other, `pair ${index} of ${pairs}`));
  }
  process.stderr.write('\r\x1b[K');
  const rows = loads.map((load) => {
    const ofPairs = samples.map((each) => each.get(load) ?? []);
    const micros = (index: 0 | 1) => median(ofPairs.flat().map((each) => each[index])).toFixed(1);
    return [load.name, formatRatio(meanRatio(ofPairs.map(ratioOfPair))), micros(0), micros(1)];
  });
  process.stdout.write(
    `${environmentLine()}; ${pairs} pairs, ${rounds} rounds of 2 × ${seconds} s for each load\n\n`,
  );
  const others = without === undefined ? 'two gateways' : `two workers without ${without}`;
  const title = `CPU time of a request of two workers, of that of ${others} (95 % confidence)`;
  process.stdout.write(`${markdownTable(['requests', title, 'µs, workers', 'µs, others'], rows)}\n`);
}

await main();
