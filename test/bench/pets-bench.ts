import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { withoutContortion } from './checkout.ts';
import { positiveInteger } from './options.ts';
import {
  startPrisma,
  startService,
  startServiceBehindGateway,
  type PetsContender,
  type PetsSample,
} from './pets-contenders.ts';
import { missingPackages, setUpPetsBench, soldShare, type PetsFixture } from './pets-fixture.ts';
import {
  endToEndTable,
  poolSizeTable,
  prismaTable,
  summarize,
  tableSizeTable,
  versionTable,
  type EndToEndComparison,
  type PetsRow,
  type PoolSizeResult,
  type PrismaComparison,
  type TableSizeComparison,
  type VersionComparison,
} from './pets-report.ts';
import type { PetsCall } from './pets-scenarios.ts';
import { environmentLine, writeResults } from './report.ts';

/*
 * npm run bench:pets compares the pets service with Prisma alone, small with large tables, and several pool sizes. Only
 * the ratios within one run are comparable: absolute figures depend on the machine and its load.
 */
const parts = ['compared', 'end-to-end', 'grown', 'pools'];
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    /** Parts to run. The results of a partial run are printed but not saved. */
    part: { type: 'string', multiple: true, default: parts },
    /** Directory of another checkout. Only its pets service and this one are measured. */
    baseline: { type: 'string' },
    /** Patch of ablations/. Only these sources with and without it are measured, both behind a gateway. */
    without: { type: 'string' },
  },
});
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);

const few = 1000;
const many = 1_000_000;
const defaultPoolSize = 10;
const poolSizes = [2, 5, 10, 20, 40];
/** V8 compiles hot code only after some ten thousand requests, and does so on the measured core. */
const warmUpSeconds = { compared: 8, endToEnd: 15, grown: 3, pools: 6 };

interface Run {
  contender: PetsContender;
  call: PetsCall;
  connections: number;
}

/** Measures all runs in turn, round by round, so that other load on the machine affects all of them alike. */
async function interleave<Name extends string>(
  warmUp: number,
  runs: Record<Name, Run>,
): Promise<Record<Name, PetsRow>> {
  const samples = new Map<string, PetsSample[]>();
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, { contender, call, connections }] of Object.entries<Run>(runs)) {
      process.stderr.write(`\r\x1b[K${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${name}`);
      const sample = await contender.measure(call, connections, round === 0 ? warmUp : seconds);
      if (round > 0) samples.set(name, [...(samples.get(name) ?? []), sample]);
    }
  }
  process.stderr.write('\r\x1b[K');
  return Object.fromEntries(Array.from(samples, ([name, measured]) => [name, summarize(measured)])) as Record<
    Name,
    PetsRow
  >;
}

async function compareWithPrisma(fixture: PetsFixture, databaseUrl: string): Promise<PrismaComparison[]> {
  const connections = 20;
  const limit = 20;
  const serviceOptions = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const stopAtEnd = async (contender: Promise<PetsContender>) => {
    const running = await contender;
    stack.defer(() => running.stop());
    return running;
  };
  const service = await stopAtEnd(startService(fixture, serviceOptions));
  const prisma = await stopAtEnd(startPrisma(fixture, serviceOptions, { separateTicks: true }));
  const batchingPrisma = await stopAtEnd(startPrisma(fixture, serviceOptions, { separateTicks: false }));

  const calls: Record<string, PetsCall> = {
    'list, first page': { kind: 'list', limit },
    'list, random page': { kind: 'list-random-page', limit, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  const runs: Record<string, Run> = {};
  for (const [title, call] of Object.entries(calls)) {
    runs[title] = { contender: service, call, connections };
    runs[`${title}: Prisma`] = { contender: prisma, call, connections };
    if (call.kind === 'get')
      runs[`${title}: Prisma batching`] = { contender: batchingPrisma, call, connections };
  }
  const rows = await interleave(warmUpSeconds.compared, runs);
  const row = (name: string): PetsRow => {
    const found = rows[name];
    if (found === undefined) throw new Error(`${name} was not measured`);
    return found;
  };
  return Object.entries(calls).flatMap(([title, { kind }]) => {
    const comparison = { title, service: row(title), prisma: row(`${title}: Prisma`) };
    if (kind !== 'get') return [comparison];
    const batchedTitle = `${title}, Prisma batching 20 calls in one tick into one query`;
    return [
      comparison,
      { title: batchedTitle, service: row(title), prisma: row(`${title}: Prisma batching`) },
    ];
  });
}

/** Measures each call on all contenders, with 20 connections. */
async function measureCalls<Name extends string>(
  warmUp: number,
  contenders: Record<Name, PetsContender>,
  calls: Record<string, PetsCall>,
): Promise<({ title: string } & Record<Name, PetsRow>)[]> {
  const rows: ({ title: string } & Record<Name, PetsRow>)[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const runs = Object.entries<PetsContender>(contenders).map(
      ([name, contender]) => [name, { contender, call, connections: 20 }] as const,
    );
    rows.push({ title, ...(await interleave(warmUp, Object.fromEntries(runs) as Record<Name, Run>)) });
  }
  return rows;
}

async function compareVersions(
  fixture: PetsFixture,
  databaseUrl: string,
  baselineDirectory: string,
  start: typeof startService,
): Promise<VersionComparison[]> {
  const serviceOptions = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const service = await start(fixture, serviceOptions);
  stack.defer(() => service.stop());
  const baseline = await start(fixture, { ...serviceOptions, cwd: baselineDirectory });
  stack.defer(() => baseline.stop());
  const calls: Record<string, PetsCall> = {
    'list, first page': { kind: 'list', limit: 20 },
    'list, random page': { kind: 'list-random-page', limit: 20, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  return await measureCalls(warmUpSeconds.compared, { service, baseline }, calls);
}

/** Measures the whole path from a client through the gateway to PostgreSQL. */
async function measureEndToEnd(fixture: PetsFixture, databaseUrl: string): Promise<EndToEndComparison[]> {
  const serviceOptions = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const service = await startService(fixture, serviceOptions);
  stack.defer(() => service.stop());
  const behind = await startServiceBehindGateway(fixture, serviceOptions);
  stack.defer(() => behind.stop());
  const calls: Record<string, PetsCall> = {
    'list, random page': { kind: 'list-random-page', limit: 20, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  return await measureCalls(warmUpSeconds.endToEnd, { service, behind }, calls);
}

/** Uses one connection, so that no two requests share a query. */
async function compareTableSizes(
  fixture: PetsFixture,
  urls: { few: string; many: string },
): Promise<TableSizeComparison[]> {
  const connections = 1;
  const limit = 20;
  await using stack = new AsyncDisposableStack();
  const startServiceWith = async (databaseUrl: string) => {
    const running = await startService(fixture, { databaseUrl, poolSize: defaultPoolSize });
    stack.defer(() => running.stop());
    return running;
  };
  const [fewPetsService, manyPetsService] = [
    await startServiceWith(urls.few),
    await startServiceWith(urls.many),
  ];
  const calls: Record<string, (pets: number) => PetsCall> = {
    'first page': () => ({ kind: 'list', limit }),
    'deep page': (pets) => ({ kind: 'list', limit, after: pets * 0.9 }),
    'first page, one status': () => ({ kind: 'list', limit, status: 'available' }),
    'deep page, one status': (pets) => ({ kind: 'list', limit, status: 'available', after: pets * 0.9 }),
    'first page, rare status': () => ({ kind: 'list', limit: 5, status: 'pending' }),
    'one pet': (pets) => ({ kind: 'get', upTo: pets }),
  };
  const comparisons: TableSizeComparison[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const rows = await interleave(warmUpSeconds.grown, {
      few: { contender: fewPetsService, call: call(few), connections },
      many: { contender: manyPetsService, call: call(many), connections },
    });
    comparisons.push({ title, ...rows });
  }
  return comparisons;
}

async function comparePoolSizes(fixture: PetsFixture, databaseUrl: string): Promise<PoolSizeResult[]> {
  const connections = 50;
  await using stack = new AsyncDisposableStack();
  const services = new Map<number, PetsContender>();
  for (const poolSize of poolSizes) {
    const running = await startService(fixture, { databaseUrl, poolSize });
    stack.defer(() => running.stop());
    services.set(poolSize, running);
  }
  const calls: Record<string, PetsCall> = {
    'list, random page': { kind: 'list-random-page', limit: 20, upTo: many },
    create: { kind: 'create' },
  };
  const poolSizeResults: PoolSizeResult[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const runs = Array.from(services, ([poolSize, contender]) => [
      String(poolSize),
      { contender, call, connections },
    ]);
    const rows = await interleave(warmUpSeconds.pools, Object.fromEntries(runs) as Record<string, Run>);
    // Object.entries returns integer keys in ascending order.
    for (const [poolSize, row] of Object.entries(rows))
      poolSizeResults.push({ title, poolSize: Number(poolSize), row });
  }
  return poolSizeResults;
}

async function main(): Promise<void> {
  await using fixture = await setUpPetsBench();
  const urls = { few: await fixture.createDatabase(few), many: await fixture.createDatabase(many) };
  process.stdout.write(
    `${environmentLine()}, ${rounds} rounds of ${seconds} s after a warm-up; medians, range in parentheses. The service or Prisma runs on one core; PostgreSQL (without fsync) and wrk share the other one. CPU is user and system time per request.\n\n`,
  );
  const results: Record<string, unknown> = {};
  const add = (name: string, rows: unknown, section: string) => {
    results[name] = rows;
    process.stdout.write(`${section}\n\n`);
  };
  if (options.without !== undefined) {
    const directory = join(fixture.directory, 'without');
    await withoutContortion(options.without, directory);
    const rows = await compareVersions(fixture, urls.many, directory, startServiceBehindGateway);
    add('without', rows, `### Behind the gateway, without ${options.without}\n\n${versionTable(rows)}`);
    return;
  }
  if (options.baseline !== undefined) {
    const rows = await compareVersions(fixture, urls.many, resolve(options.baseline), startService);
    add('versions', rows, `### Comparison with the other checkout\n\n${versionTable(rows)}`);
    return;
  }
  if (options.part.includes('compared')) {
    const rows = await compareWithPrisma(fixture, urls.many);
    const text = `20 connections, or concurrent callers of Prisma; pool size ${defaultPoolSize}; ${many.toLocaleString('en')} pets. Calls per CPU second show how much one core can serve, independently of other load on the machine. Prisma makes each call in its own tick, as requests arrive, unless the row says otherwise.`;
    add('compared', rows, `### Comparison with Prisma alone\n\n${text}\n\n${prismaTable(rows)}`);
  }
  if (options.part.includes('end-to-end')) {
    const rows = await measureEndToEnd(fixture, urls.many);
    const text = `20 connections. Gateway and pets service share one core, so their CPU times add up.`;
    add('endToEnd', rows, `### End to end\n\n${text}\n\n${endToEndTable(rows)}`);
  }
  if (options.part.includes('grown')) {
    const rows = await compareTableSizes(fixture, urls);
    const text = `One connection; ${few.toLocaleString('en')} (few) or ${many.toLocaleString('en')} (many) pets. The oldest ${soldShare * 100} % are sold, so the first available pet comes after all of them.`;
    add('grown', rows, `### Table size\n\n${text}\n\n${tableSizeTable(rows)}`);
  }
  if (options.part.includes('pools')) {
    const rows = await comparePoolSizes(fixture, urls.many);
    add('pools', rows, `### Pool size\n\n50 connections.\n\n${poolSizeTable(rows)}`);
  }
  if (!parts.every((part) => options.part.includes(part))) return;
  await writeResults('pets', results);
}

const missing = missingPackages();
if (missing === undefined) {
  await main();
} else {
  process.stderr.write(`bench:pets requires these Debian packages: ${missing}\n`);
  process.exitCode = 1;
}
