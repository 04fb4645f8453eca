import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  startBehindGateway,
  startPrisma,
  startService,
  type PetsContender,
  type PetsSample,
} from './pets-contenders.ts';
import { missingPackages, setUpPetsBench, soldShare, type PetsFixture } from './pets-fixture.ts';
import {
  behindTable,
  comparedTable,
  grownTable,
  pooledTable,
  summarize,
  versionsTable,
  type Behind,
  type Compared,
  type Grown,
  type PetsRow,
  type Pooled,
  type Versions,
} from './pets-report.ts';
import type { PetsCall } from './pets-scenarios.ts';
import { environmentLine, writeResults } from './report.ts';

/*
 * npm run bench:pets: the pets service beside Prisma alone, called for the same, among few and many pets, and with
 * pools of several sizes. Only the ratios of one run say something: the figures are those of this machine at this time.
 */
const parts = ['compared', 'end-to-end', 'grown', 'pools'];
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    /** Some only, whose figures are printed and not kept. */
    part: { type: 'string', multiple: true, default: parts },
    /** Directory of another checkout, whose pets service is measured beside this one; nothing else is. */
    baseline: { type: 'string' },
  },
});
const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)];
for (const value of [rounds, seconds]) {
  if (!Number.isInteger(value) || value < 1)
    throw new Error('--rounds and --seconds are whole numbers from 1 on');
}

const few = 1000;
const many = 1_000_000;
const defaultPoolSize = 10;
const poolSizes = [2, 5, 10, 20, 40];
/** V8 compiles a request's code only after some ten thousand of them, and does so on the core that is measured. */
const warmUpSeconds = { compared: 8, endToEnd: 15, grown: 3, pools: 6 };

interface Run {
  contender: PetsContender;
  call: PetsCall;
  connections: number;
}

/** All of them in turn, round by round, so that whatever else the machine does meets all alike. */
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

async function compare(fixture: PetsFixture, databaseUrl: string): Promise<Compared[]> {
  const connections = 20;
  const limit = 20;
  const setting = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const started = async (contender: Promise<PetsContender>) => {
    const running = await contender;
    stack.defer(() => running.stop());
    return running;
  };
  const service = await started(startService(fixture, setting));
  const prisma = await started(startPrisma(fixture, setting, { apart: true }));
  const inStep = await started(startPrisma(fixture, setting, { apart: false }));

  const calls: Record<string, PetsCall> = {
    'list, all the first page': { kind: 'list', limit },
    'list, each another page': { kind: 'list-anywhere', limit, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  const runs: Record<string, Run> = {};
  for (const [title, call] of Object.entries(calls)) {
    runs[title] = { contender: service, call, connections };
    runs[`${title}: Prisma`] = { contender: prisma, call, connections };
    if (call.kind === 'get') runs[`${title}: Prisma in step`] = { contender: inStep, call, connections };
  }
  const rows = await interleave(warmUpSeconds.compared, runs);
  const row = (name: string): PetsRow => {
    const found = rows[name];
    if (found === undefined) throw new Error(`${name} was not measured`);
    return found;
  };
  return Object.entries(calls).flatMap(([title, { kind }]) => {
    const beside = { title, service: row(title), prisma: row(`${title}: Prisma`) };
    if (kind !== 'get') return [beside];
    const together = `${title}, beside Prisma with 20 calls in one tick, one query of its`;
    return [beside, { title: together, service: row(title), prisma: row(`${title}: Prisma in step`) }];
  });
}

/** The pets service of this checkout and of another one. */
async function compareVersions(fixture: PetsFixture, databaseUrl: string, cwd: string): Promise<Versions[]> {
  const connections = 20;
  const setting = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const service = await startService(fixture, setting);
  stack.defer(() => service.stop());
  const baseline = await startService(fixture, { ...setting, cwd });
  stack.defer(() => baseline.stop());
  const calls: Record<string, PetsCall> = {
    'list, all the first page': { kind: 'list', limit: 20 },
    'list, each another page': { kind: 'list-anywhere', limit: 20, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  const versions: Versions[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const rows = await interleave(warmUpSeconds.compared, {
      service: { contender: service, call, connections },
      baseline: { contender: baseline, call, connections },
    });
    versions.push({ title, ...rows });
  }
  return versions;
}

/** The whole way from a client of the gateway to PostgreSQL and back. */
async function endToEnd(fixture: PetsFixture, databaseUrl: string): Promise<Behind[]> {
  const connections = 20;
  const setting = { databaseUrl, poolSize: defaultPoolSize };
  await using stack = new AsyncDisposableStack();
  const service = await startService(fixture, setting);
  stack.defer(() => service.stop());
  const behind = await startBehindGateway(fixture, setting);
  stack.defer(() => behind.stop());
  const calls: Record<string, PetsCall> = {
    'list, each another page': { kind: 'list-anywhere', limit: 20, upTo: many },
    get: { kind: 'get', upTo: many },
    create: { kind: 'create' },
  };
  const rows: Behind[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const measured = await interleave(warmUpSeconds.endToEnd, {
      service: { contender: service, call, connections },
      behind: { contender: behind, call, connections },
    });
    rows.push({ title, ...measured });
  }
  return rows;
}

/** One connection, so that each request is a query of its own. */
async function grow(fixture: PetsFixture, urls: { few: string; many: string }): Promise<Grown[]> {
  const connections = 1;
  const limit = 20;
  await using stack = new AsyncDisposableStack();
  const serve = async (databaseUrl: string) => {
    const running = await startService(fixture, { databaseUrl, poolSize: defaultPoolSize });
    stack.defer(() => running.stop());
    return running;
  };
  const [amongFew, amongMany] = [await serve(urls.few), await serve(urls.many)];
  const calls: Record<string, (pets: number) => PetsCall> = {
    'first page': () => ({ kind: 'list', limit }),
    'deep page': (pets) => ({ kind: 'list', limit, after: pets * 0.9 }),
    'first page of a status': () => ({ kind: 'list', limit, status: 'available' }),
    'deep page of a status': (pets) => ({ kind: 'list', limit, status: 'available', after: pets * 0.9 }),
    'first page of a rare status': () => ({ kind: 'list', limit: 5, status: 'pending' }),
    'one pet': (pets) => ({ kind: 'get', upTo: pets }),
  };
  const grown: Grown[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const rows = await interleave(warmUpSeconds.grown, {
      few: { contender: amongFew, call: call(few), connections },
      many: { contender: amongMany, call: call(many), connections },
    });
    grown.push({ title, ...rows });
  }
  return grown;
}

async function pool(fixture: PetsFixture, databaseUrl: string): Promise<Pooled[]> {
  const connections = 50;
  await using stack = new AsyncDisposableStack();
  const services = new Map<number, PetsContender>();
  for (const poolSize of poolSizes) {
    const running = await startService(fixture, { databaseUrl, poolSize });
    stack.defer(() => running.stop());
    services.set(poolSize, running);
  }
  const calls: Record<string, PetsCall> = {
    'list, each another page': { kind: 'list-anywhere', limit: 20, upTo: many },
    create: { kind: 'create' },
  };
  const pooled: Pooled[] = [];
  for (const [title, call] of Object.entries(calls)) {
    const runs = Array.from(services, ([poolSize, contender]) => [
      String(poolSize),
      { contender, call, connections },
    ]);
    const rows = await interleave(warmUpSeconds.pools, Object.fromEntries(runs) as Record<string, Run>);
    // Names that look like numbers come in their order.
    for (const [poolSize, row] of Object.entries(rows))
      pooled.push({ title, poolSize: Number(poolSize), row });
  }
  return pooled;
}

async function main(): Promise<void> {
  await using fixture = await setUpPetsBench();
  const urls = { few: await fixture.createDatabase(few), many: await fixture.createDatabase(many) };
  const sections: string[] = [];
  const results: Record<string, unknown> = {};
  const add = (name: string, rows: unknown, section: string) => {
    results[name] = rows;
    sections.push(section);
    process.stdout.write(`${section}\n\n`);
  };
  if (options.baseline !== undefined) {
    const rows = await compareVersions(fixture, urls.many, resolve(options.baseline));
    add('versions', rows, `## Beside the other checkout\n\n${versionsTable(rows)}`);
    return;
  }
  if (options.part.includes('compared')) {
    const rows = await compare(fixture, urls.many);
    const text = `20 connections, or callers of Prisma; a pool of ${defaultPoolSize}; ${many.toLocaleString('en')} pets. "Of its calls for a second of CPU" compares what one core could take of each, however busy the machine was. Prisma alone makes each call in a tick of its own, as requests come, unless the row says otherwise.`;
    add('compared', rows, `## Beside Prisma alone\n\n${text}\n\n${comparedTable(rows)}`);
  }
  if (options.part.includes('end-to-end')) {
    const rows = await endToEnd(fixture, urls.many);
    const text = `20 connections. Gateway and pets service share the one core, so a request costs it the sum.`;
    add('endToEnd', rows, `## End to end\n\n${text}\n\n${behindTable(rows)}`);
  }
  if (options.part.includes('grown')) {
    const rows = await grow(fixture, urls);
    const text = `One connection, ${few.toLocaleString('en')} and ${many.toLocaleString('en')} pets, of which the oldest ${soldShare * 100} % are sold: the first available one is behind all of those.`;
    add('grown', rows, `## Few and many pets\n\n${text}\n\n${grownTable(rows)}`);
  }
  if (options.part.includes('pools')) {
    const rows = await pool(fixture, urls.many);
    add('pools', rows, `## Size of the pool\n\n50 connections.\n\n${pooledTable(rows)}`);
  }
  if (!parts.every((part) => options.part.includes(part))) return;
  const head = `# Pets service\n\n${environmentLine()}, ${rounds} rounds of ${seconds} s after a warm-up; medians, spread in brackets. The service, or Prisma alone, has one core; PostgreSQL (which does not wait for the disk) and wrk share the other one. CPU is user and system time for one request.`;
  await writeResults('pets', [head, ...sections].join('\n\n'), results);
}

const missing = missingPackages();
if (missing === undefined) {
  await main();
} else {
  process.stderr.write(`bench:pets needs what is not here, by Debian package: ${missing}\n`);
  process.exitCode = 1;
}
