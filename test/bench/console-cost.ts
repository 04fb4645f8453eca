import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeConsoleCode } from '../../gateway/operations/console-codes.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startCalibration, type Calibration } from './calibration.ts';
import { gatewayWithConsole } from './contenders.ts';
import { busySecondsOf, cpuTimeOf } from './cpu-time.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop } from './load.ts';
import { positiveInteger } from './options.ts';
import { cores } from './pinned-process.ts';
import { ratioOf } from './ratio.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import { assertStatuses, measureAlone, shuffleForRound, type RunningContender } from './running-contender.ts';
import { scenarios } from './scenarios.ts';

/*
 * npm run bench:console compares the CPU time of a request of a gateway with ten open consoles with that of the same
 * gateway with none, by short samples in turn on one core.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '2' },
    processes: { type: 'string', default: '3' },
    consoles: { type: 'string', default: '10' },
    /** Percent of the core that other processes may take in a sample. */
    disturbance: { type: 'string', default: '3' },
  },
});
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);
const processes = positiveInteger('processes', options.processes);
const consoles = positiveInteger('consoles', options.consoles);
const disturbance = positiveInteger('disturbance', options.disturbance) / 100;

/** V8 compiles on the only core. */
const warmUpSeconds = 15;
const maxAttempts = 5;
/** The first reading of the state, and that of the last hour of traffic, are not part of a sample. */
const settledMs = 1500;

interface Variant {
  name: string;
  gateway: RunningContender;
  adminUrl: string;
  cookie: string;
  consoles: number;
}

const scenario = scenarios.find(({ name }) => name === 'hot-key');
if (scenario === undefined) throw new Error('there is no scenario hot-key');
const { script, connections } = scenario;

/** @returns the cookie of a session */
async function signIn(redis: RedisClient, adminUrl: string): Promise<string> {
  const session = { redis, audit: createAuditLog({ redis, who: 'bench' }), now: () => Date.now() };
  const { code } = await makeConsoleCode(session, { name: 'bench', role: 'viewer' });
  const response = await fetch(`${adminUrl}/api/session`, {
    method: 'POST',
    headers: { Origin: adminUrl, 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return response.headers.getSetCookie().join('; ').split(';')[0] ?? '';
}

/** Opens streams of events on the core of the load, not on that of the gateway. */
function openConsoles({ adminUrl, cookie, consoles }: Variant): Disposable {
  const streams = Array.from({ length: consoles }, () =>
    spawn('taskset', ['-c', String(cores.support), 'curl', '-sN', '-b', cookie, `${adminUrl}/api/live`], {
      stdio: ['ignore', 'ignore', 'ignore'],
    }),
  );
  return {
    [Symbol.dispose]() {
      for (const stream of streams) stream.kill();
    },
  };
}

async function sample(fixture: Fixture, variant: Variant, calibration: Calibration, duration: number) {
  const { gateway } = variant;
  using _streams = openConsoles(variant);
  await sleep(settledMs);
  const calibratedBefore = await calibration.measure();
  const [cpuBefore, busyBefore] = [
    await cpuTimeOf(gateway.process.pid),
    await busySecondsOf(cores.contender),
  ];
  const load = await closedLoop({
    directory: fixture.directory,
    url: `http://127.0.0.1:${gateway.port}`,
    script: script(fixture),
    connections,
    seconds: duration,
  });
  const [cpu, busy] = [await cpuTimeOf(gateway.process.pid), await busySecondsOf(cores.contender)];
  const calibrated = (calibratedBefore + (await calibration.measure())) / 2;
  if (scenario !== undefined) assertStatuses(scenario, gateway, load);
  const total = cpu.total - cpuBefore.total;
  const perRequest = total / (load.requestsPerSecond * duration);
  return {
    relative: perRequest / calibrated,
    micros: perRequest * 1e6,
    others: (busy - busyBefore - total) / duration,
  };
}

async function main(): Promise<void> {
  await using fixture = await setUpBench();
  await using stack = new AsyncDisposableStack();
  const redis = await connectRedis(`redis://127.0.0.1:${fixture.redisPort}`);
  stack.defer(() => redis.disconnect());
  const variants: Variant[][] = [];
  for (let index = 1; index <= processes; index += 1) {
    const [port, adminPort] = [await freePort(), await freePort()];
    const contender = gatewayWithConsole(`gateway ${index}`, adminPort);
    const process = await contender.start(fixture, port);
    stack.defer(() => process.stop());
    const adminUrl = `http://127.0.0.1:${adminPort}`;
    const cookie = await signIn(redis, adminUrl);
    await process.pause();
    const gateway = { ...contender, process, port };
    const variant = (open: number) => ({
      name: `${contender.name}, ${open} consoles`,
      gateway,
      adminUrl,
      cookie,
      consoles: open,
    });
    variants.push([variant(0), variant(consoles)]);
  }
  const calibration = stack.use(await startCalibration(cores.contender));
  const samples = new Map(
    variants.flat().map(({ name }): [string, Samples] => [name, { relative: [], micros: [] }]),
  );
  for (const [none] of variants) {
    if (none === undefined) continue;
    await measureAlone(none.gateway, () => sample(fixture, none, calibration, warmUpSeconds));
  }
  let disturbed = 0;
  for (let round = 1; round <= rounds; round += 1) {
    for (const variant of shuffleForRound(round, variants.flat())) {
      process.stderr.write(`\rround ${round} of ${rounds}: ${variant.name}     `);
      const measured = await measureUndisturbed(fixture, variant, calibration);
      if (measured === undefined) disturbed += 1;
      samples.get(variant.name)?.relative.push(measured?.relative ?? Number.NaN);
      samples.get(variant.name)?.micros.push(measured?.micros ?? Number.NaN);
    }
  }
  process.stderr.write('\r\x1b[K');
  const of = (open: number, field: keyof Samples) =>
    variants.map((pair) =>
      (samples.get(pair.find((each) => each.consoles === open)?.name ?? '')?.[field] ?? []).filter(
        (value) => !Number.isNaN(value),
      ),
    );
  // The same samples have the same interval in every run.
  const { ratio, low, high } = ratioOf(of(consoles, 'relative'), of(0, 'relative'), seededRandom(1));
  const micros = (open: number) => median(of(open, 'micros').flat()).toFixed(1);
  process.stdout.write(
    `${environmentLine()}; ${processes} processes, ${rounds} samples of ${seconds} s of each with and without consoles\n\n`,
  );
  const title = `CPU time of a request with ${consoles} consoles, of that with none (95 % confidence)`;
  process.stdout.write(
    `${markdownTable(
      [title, `µs, ${consoles} consoles`, 'µs, none', 'samples left out'],
      [
        [
          `**${ratio.toFixed(3)}** (${low.toFixed(3)}–${high.toFixed(3)})`,
          micros(consoles),
          micros(0),
          String(disturbed),
        ],
      ],
    )}\n`,
  );
}

interface Samples {
  relative: number[];
  micros: number[];
}

/** Repeats a sample in which other processes used the core. */
async function measureUndisturbed(fixture: Fixture, variant: Variant, calibration: Calibration) {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const measured = await measureAlone(variant.gateway, () =>
      sample(fixture, variant, calibration, seconds),
    );
    if (measured.others <= disturbance) return measured;
    await sleep(500);
  }
  return undefined;
}

await main();
