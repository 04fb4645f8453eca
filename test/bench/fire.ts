import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { contenders, thisGateway, type Contender } from './contenders.ts';
import { phases, type Ground, type Phase } from './fire-phases.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop, openLoop, type OpenLoopResult } from './load.ts';
import { positiveInteger } from './options.ts';
import { cores } from './pinned-process.ts';
import { environmentLine, markdownTable, writeResults } from './report.ts';
import { scenarioNamed } from './scenarios.ts';

/*
 * npm run bench:fire measures the latencies of a gateway while something happens to it, beside nginx + Lua where that
 * knows what happens. Each phase is compared with a calm one of the same process just before.
 */
const { values: options } = parseArgs({
  options: {
    phase: { type: 'string', multiple: true, default: [] },
    seconds: { type: 'string', default: '10' },
    keys: { type: 'string', default: '100000' },
    portals: { type: 'string', default: '100' },
    write: { type: 'boolean', default: false },
  },
});
const seconds = positiveInteger('seconds', options.seconds);
const [keys, portals] = [positiveInteger('keys', options.keys), positiveInteger('portals', options.portals)];
for (const name of options.phase) {
  if (phases.some((phase) => phase.name === name)) continue;
  throw new Error(`unknown phase ${name}: ${phases.map((phase) => phase.name).join(', ')}`);
}
const chosen = phases.filter(({ name, isExtra }) =>
  options.phase.length === 0 ? isExtra === undefined : options.phase.includes(name),
);

/** Share of the gateway's highest rate at which all are measured. */
const shareOfRate = 1 / 3;
/** The generator was late if so much of p99 is its own lateness. */
const lateShare = 1 / 4;
const aimOfCalm = 2;

interface Row {
  phase: string;
  contender: string;
  result: OpenLoopResult;
  calm: OpenLoopResult;
  errors: Record<string, number>;
  isMet: boolean;
}

const hotKey = scenarioNamed('hot-key');

/** Loads a contender with all it can, until V8 has compiled it. @returns requests a second */
async function saturate(fixture: Fixture, url: string, key: string, duration: number): Promise<number> {
  const script = hotKey.script({ ...fixture, hotKey: key });
  const { directory } = fixture;
  const load = { directory, url, script, connections: hotKey.connections, seconds: duration };
  return (await closedLoop(load)).requestsPerSecond;
}

const errorsOf = ({ statuses }: OpenLoopResult) =>
  Object.fromEntries(Object.entries(statuses).filter(([status]) => status !== '200'));

async function measure(
  fixture: Fixture,
  session: Ground['session'],
  contender: Contender,
  { title: phase, aimMs, prepare }: Phase,
  rate: (highest: () => Promise<number>) => Promise<number>,
): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const begun = Promise.withResolvers<void>();
  const ending = new AbortController();
  const failures: string[] = [];
  const { calm, load, happen } = await prepare({
    fixture,
    session,
    stack,
    keys,
    portals,
    async start(env = {}, port) {
      const chosenPort = port ?? (await freePort());
      const started = contender.isNode ? thisGateway(contender.name, env) : contender;
      const process = await started.start(fixture, chosenPort);
      stack.defer(() => process.stop());
      return { ...process, port: chosenPort };
    },
    begin: async () => {
      await begun.promise;
      await sleep(seconds * 250);
    },
    ended: ending.signal,
    fail: (error) => void failures.push(error),
  });
  const hot = join(fixture.directory, 'hot-key');
  await writeFile(hot, fixture.hotKey);
  const base = { keys: hot, seconds, ...calm };
  const key = await readFile(base.keys, 'utf8');
  const { origin } = new URL(calm.url);
  await saturate(fixture, origin, key, contender.isNode ? 2 * seconds : 1);
  const requestsPerSecond = await rate(() => saturate(fixture, origin, key, seconds));
  const calmResult = await openLoop({ ...base, requestsPerSecond });
  const loaded = openLoop({ ...base, ...load, requestsPerSecond }, begun.resolve).finally(() =>
    ending.abort(),
  );
  const [result] = await Promise.all([loaded, happen?.()]);
  const errors = errorsOf(result);
  for (const failure of failures) errors[failure] = (errors[failure] ?? 0) + 1;
  const isMet = result.p99 <= (aimMs ?? aimOfCalm * calmResult.p99) && Object.keys(errors).length === 0;
  return { phase, contender: contender.name, result, calm: calmResult, errors, isMet };
}

const ms = (value: number) => value.toFixed(value < 10 ? 2 : 0);

function table(rows: readonly Row[]): string {
  return markdownTable(
    ['phase', 'contender', 'requests', 'p50 ms', 'p99 ms', 'p99.9 ms', 'p99 / calm p99', 'errors', 'aim met'],
    rows.map(({ phase, contender, result, calm, errors, isMet }) => [
      phase,
      contender,
      String(Object.values(result.statuses).reduce((sum, count) => sum + count, 0)),
      ms(result.p50),
      `${ms(result.p99)}${[result, calm].some(({ late, p99 }) => late > lateShare * p99) ? ' (late)' : ''}`,
      ms(result.p999),
      (result.p99 / calm.p99).toFixed(2),
      Object.entries(errors)
        .map(([error, count]) => `${count} × ${error}`)
        .join(', ') || '0',
      isMet ? 'yes' : 'no',
    ]),
  );
}

// Whatever this process starts shares the core of the load, unless it is told another one.
spawnSync('taskset', ['-acp', String(cores.support), String(process.pid)]);
await using fixture = await setUpBench();
const redis = await connectRedis(`redis://127.0.0.1:${fixture.redisPort}`);
const session = {
  redis,
  audit: createAuditLog({ redis, who: 'bench' }),
  now: () => Date.now(),
  waitUntilDurable: () => Promise.resolve(),
};
const rows: Row[] = [];
let requestsPerSecond: number | undefined;
for (const phase of chosen) {
  for (const contender of contenders) {
    const isChosen = contender.name === 'gateway' || (contender.name === 'nginx-lua' && phase.withNginx);
    if (!isChosen || contender.missing !== undefined) continue;
    process.stderr.write(`${phase.name}, ${contender.name}\n`);
    // The first phase decides the rate of all.
    rows.push(
      await measure(fixture, session, contender, phase, async (highest) => {
        requestsPerSecond ??= Math.round((await highest()) * shareOfRate);
        return requestsPerSecond;
      }),
    );
  }
}
redis.disconnect();
const text = [
  '## Under fire',
  `${environmentLine()}; open loop of ${requestsPerSecond} requests/s, a third of the gateway's highest rate, for ${seconds} s a phase; ${keys} keys, ${portals} portals.`,
  table(rows),
].join('\n\n');
process.stdout.write(`${text}\n`);
if (options.write) await writeResults('fire', rows);
