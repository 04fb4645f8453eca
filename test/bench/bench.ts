import { hash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../support/http/free-port.ts';
import { barChart } from './chart.ts';
import { baseline, contenders, leftOut, type Contender } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop, fixedRate, openIdleConnections, type Measured } from './load.ts';
import type { PinnedProcess } from './pinned-process.ts';
import {
  environmentLine,
  latencyTable,
  median,
  resultsDirectory,
  throughputTable,
  writeResults,
  type Row,
} from './report.ts';
import { scenarios, type Scenario } from './scenarios.ts';

/*
 * npm run bench: all contenders side by side, each on one core, what they need on the other one. Only the ratios of
 * one run say something: the figures themselves are those of this machine at this moment.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    scenario: { type: 'string', multiple: true, default: [] },
    contender: { type: 'string', multiple: true, default: [] },
    /** Directory of another checkout, whose gateway is measured too, in all scenarios of this one. */
    baseline: { type: 'string' },
  },
});
const rounds = positive('rounds');
const seconds = positive('seconds');
const all = [...contenders, ...(options.baseline === undefined ? [] : [baseline(resolve(options.baseline))])];
assertKnown('scenario', scenarios);
assertKnown('contender', all);

function positive(name: 'rounds' | 'seconds'): number {
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is not a whole number from 1 on`);
  return value;
}

function assertKnown(name: 'scenario' | 'contender', known: readonly { name: string }[]): void {
  const unknown = options[name].find((wanted) => !known.some((one) => one.name === wanted));
  if (unknown === undefined) return;
  throw new Error(`no ${name} is named ${unknown}; there are ${known.map((one) => one.name).join(', ')}`);
}

const warmUpSeconds = 2;
/** Until V8 has compiled what is hot, which it does on the one core that there is. */
const compilingSeconds = 20;
const ours = 'gateway';

type Running = Contender & { process: PinnedProcess; port: number };

interface Sample extends Measured {
  cpuPer10k: number;
}

/** Time for one that was paused to catch up with its timers. */
const resumeMs = 200;

/** Runs a contender while all others are paused: what they have left to compile or to collect is not to be paid for by it. */
async function alone<T>({ name, process }: Running, step: () => Promise<T>): Promise<T> {
  await process.resume();
  await sleep(resumeMs);
  try {
    return await step();
  } catch (error) {
    const wrote = await process.lastOutput();
    throw new Error(`${name} can't be measured. It wrote at last:\n${wrote}`, { cause: error });
  } finally {
    await process.pause();
  }
}

async function measure(
  fixture: Fixture,
  scenario: Scenario,
  contender: Running,
  duration: number,
): Promise<Sample> {
  const url = `http://127.0.0.1:${contender.port}`;
  using _idle = await openIdleConnections(
    `${url}/v1/pets?limit=2`,
    fixture.hotKey,
    scenario.idleConnections ?? 0,
  );
  const before = await contender.process.cpuSeconds();
  const measured = await closedLoop({
    directory: fixture.directory,
    url,
    script: scenario.script(fixture),
    connections: scenario.connections,
    seconds: duration,
  });
  const cpuSeconds = (await contender.process.cpuSeconds()) - before;
  assertStatuses(scenario, contender, measured);
  return { ...measured, cpuPer10k: (cpuSeconds / (measured.requestsPerSecond * duration)) * 10_000 };
}

/** A contender that refuses or fails what it should serve would look fast. */
function assertStatuses({ name, expected }: Scenario, contender: Contender, { statuses }: Measured): void {
  const total = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  if (total === 0) throw new Error(`${contender.name}, ${name}: no answer at all`);
  for (const status of new Set([...Object.keys(statuses), ...Object.keys(expected)])) {
    const percent = (100 * (statuses[status] ?? 0)) / total;
    // The upstream alone knows no keys.
    const [from, to] = expected[status] ?? [0, 0.1];
    if (percent < from || percent > to) {
      throw new Error(`${contender.name}, ${name}: ${percent.toFixed(1)} % of the answers are ${status}`);
    }
  }
}

function summarize(title: string, name: string, samples: readonly Sample[]): Row {
  const of = (field: 'requestsPerSecond' | 'p50' | 'p99' | 'p999' | 'cpuPer10k') =>
    samples.map((sample) => sample[field]);
  const rates = of('requestsPerSecond');
  return {
    name,
    title,
    requestsPerSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    p50: median(of('p50')),
    p99: median(of('p99')),
    p999: median(of('p999')),
    cpuPer10k: median(of('cpuPer10k')),
  };
}

/**
 * Another order each round, though the same in each run: one that leaves its core idle, as the upstream alone does, slows
 * down whoever comes next, which would else always be the same one.
 */
function inOrderOf(round: number, taking: readonly Running[]): Running[] {
  const place = ({ name }: Running) => hash('sha256', `${round} ${name}`);
  return taking.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
}

const warm = new Set<string>();

function takesPart({ contenders: names }: Scenario, name: string): boolean {
  return names?.includes(name === 'baseline' ? ours : name) ?? true;
}

async function throughput(fixture: Fixture, scenario: Scenario, running: readonly Running[]): Promise<Row[]> {
  const taking = running.filter(({ name }) => takesPart(scenario, name));
  const samples = new Map<string, Sample[]>(taking.map(({ name }) => [name, []]));
  for (const contender of taking) {
    const compiles = contender.isNode && !warm.has(contender.name);
    const duration = compiles ? compilingSeconds : warmUpSeconds;
    warm.add(contender.name);
    await alone(contender, () => measure(fixture, scenario, contender, duration));
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of inOrderOf(round, taking)) {
      const sample = await alone(contender, () => measure(fixture, scenario, contender, seconds));
      samples.get(contender.name)?.push(sample);
      process.stderr.write(`\r${scenario.name}, round ${round} of ${rounds}: ${contender.name}          `);
    }
  }
  process.stderr.write('\r\x1b[K');
  return taking.map(({ name, title }) => summarize(title, name, samples.get(name) ?? []));
}

async function latency(
  fixture: Fixture,
  running: readonly Running[],
  requestsPerSecond: number,
): Promise<Row[]> {
  const taking = running.filter(({ name }) => ['direct', ours, 'baseline', 'nginx-lua'].includes(name));
  const samples = new Map<string, Sample[]>(taking.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of inOrderOf(round, taking)) {
      const url = `http://127.0.0.1:${contender.port}/v1/pets?limit=2`;
      const { directory, hotKey: key } = fixture;
      const measured = await alone(contender, () =>
        fixedRate({ directory, url, key, requestsPerSecond, seconds }),
      );
      samples.get(contender.name)?.push({ ...measured, cpuPer10k: 0 });
    }
  }
  return taking.map(({ name, title }) => summarize(title, name, samples.get(name) ?? []));
}

async function main(): Promise<void> {
  const chosen = scenarios.filter(
    ({ name }) => options.scenario.length === 0 || options.scenario.includes(name),
  );
  await using fixture = await setUpBench();
  await using stack = new AsyncDisposableStack();
  const running: Running[] = [];
  const absent = [...leftOut];
  for (const contender of all) {
    if (options.contender.length > 0 && !options.contender.includes(contender.name)) continue;
    if (contender.missing !== undefined) {
      absent.push(`${contender.title}: ${contender.missing}`);
      continue;
    }
    const port = contender.name === 'direct' ? fixture.upstreamPort : await freePort();
    const process = await contender.start(fixture, port);
    stack.defer(() => process.stop());
    await process.pause();
    running.push({ ...contender, process, port });
  }

  const sections: string[] = [];
  const results: Record<string, Row[]> = {};
  for (const scenario of chosen) {
    const rows = await throughput(fixture, scenario, running);
    results[scenario.name] = rows;
    sections.push(`### ${scenario.title}\n\n${throughputTable(rows, ours)}`);
    process.stdout.write(`${sections.at(-1)}\n\n`);
  }
  const own = results['hot-key']?.find(({ name }) => name === ours);
  if (own !== undefined) {
    const rate = Math.round(own.requestsPerSecond / 2);
    const rows = await latency(fixture, running, rate);
    results['half-load'] = rows;
    sections.push(
      `### Latency at ${rate} requests/s, half of what this gateway can take\n\n${latencyTable(rows)}`,
    );
    process.stdout.write(`${sections.at(-1)}\n\n`);
  }
  for (const line of absent) sections.push(`Left out: ${line}`);

  // Figures of a part would stand beside old ones of the rest.
  if (options.scenario.length > 0 || options.contender.length > 0 || options.baseline !== undefined) return;
  const head = `# Benchmark\n\n${environmentLine()}; ${rounds} rounds of ${seconds} s; medians, spread in brackets.`;
  await writeResults('latest', [head, ...sections].join('\n\n'), results);
  await writeFile(`${resultsDirectory}throughput.svg`, barChart(results['hot-key'] ?? [], ours));
}

await main();
