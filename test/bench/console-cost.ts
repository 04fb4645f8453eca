import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeConsoleCode } from '../../gateway/operations/console-codes.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { thisGateway } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { positiveInteger } from './options.ts';
import { cores } from './pinned-process.ts';
import { formatRatio, meanRatio } from './ratio.ts';
import { environmentLine, markdownTable, median } from './report.ts';
import { startContender, type RunningContender } from './running-contender.ts';
import { scenarioNamed } from './scenarios.ts';
import { sampleTogether } from './side-by-side.ts';

/*
 * npm run bench:console compares the CPU time of a request of a gateway with ten open consoles with that of one with none.
 * Both run side by side on one core, and take turns in having the consoles.
 */
const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '2' },
    consoles: { type: 'string', default: '10' },
  },
});
const pairs = positiveInteger('pairs', options.pairs);
const rounds = positiveInteger('rounds', options.rounds);
const seconds = positiveInteger('seconds', options.seconds);
const consoles = positiveInteger('consoles', options.consoles);

/** V8 compiles on the only core. */
const warmUpSeconds = 30;
/** The first reading of the state, and that of the last hour of traffic, are not part of a sample. */
const settledMs = 1500;

const hotKey = scenarioNamed('hot-key');

interface GatewayWithConsole {
  running: RunningContender;
  adminUrl: string;
  cookie: string;
}

/** Microseconds of a request with and without consoles, at the same time. */
interface Sample {
  withConsoles: number;
  without: number;
}

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
function openConsoles({ adminUrl, cookie }: GatewayWithConsole): Disposable {
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

async function sample(
  fixture: Fixture,
  watched: GatewayWithConsole,
  unwatched: GatewayWithConsole,
): Promise<Sample> {
  using _streams = openConsoles(watched);
  await sleep(settledMs);
  const pair = [watched.running, unwatched.running] as const;
  const [withConsoles, without] = await sampleTogether(fixture, hotKey, pair, seconds);
  return { withConsoles, without };
}

/** Two samples, in which each process has the consoles once: what the processes differ by cancels out. */
async function measureRound(
  fixture: Fixture,
  one: GatewayWithConsole,
  other: GatewayWithConsole,
): Promise<Sample[]> {
  return [await sample(fixture, one, other), await sample(fixture, other, one)];
}

async function measurePair(fixture: Fixture, redis: RedisClient, progress: string): Promise<Sample[][]> {
  await using stack = new AsyncDisposableStack();
  const start = async (name: string): Promise<GatewayWithConsole> => {
    const adminPort = await freePort();
    const contender = thisGateway(name, { GATEWAY_ADMIN_PORT: String(adminPort) });
    const running = await startContender(contender, fixture, stack);
    const adminUrl = `http://127.0.0.1:${adminPort}`;
    return { running, adminUrl, cookie: await signIn(redis, adminUrl) };
  };
  const [one, other] = [await start('one'), await start('other')];
  await sampleTogether(fixture, hotKey, [one.running, other.running], warmUpSeconds);
  const samples: Sample[][] = [];
  for (let round = 1; round <= rounds; round += 1) {
    process.stderr.write(`\r\x1b[K${progress}, round ${round} of ${rounds}`);
    samples.push(await measureRound(fixture, one, other));
  }
  return samples;
}

/** Geometric mean of the two ratios of a round. */
function ratioOfRound(samples: readonly Sample[]): number {
  return Math.sqrt(samples.reduce((product, each) => (product * each.withConsoles) / each.without, 1));
}

async function main(): Promise<void> {
  await using fixture = await setUpBench();
  await using stack = new AsyncDisposableStack();
  const redis = await connectRedis(`redis://127.0.0.1:${fixture.redisPort}`);
  stack.defer(() => redis.disconnect());
  const samples: Sample[][][] = [];
  for (let index = 1; index <= pairs; index += 1) {
    samples.push(await measurePair(fixture, redis, `pair ${index} of ${pairs}`));
  }
  process.stderr.write('\r\x1b[K');
  const ofPairs = samples.map((ofPair) => median(ofPair.map(ratioOfRound)));
  const micros = (field: keyof Sample) => median(samples.flat(2).map((each) => each[field])).toFixed(1);
  process.stdout.write(
    `${environmentLine()}; ${pairs} pairs of processes, each with half of a core; ${rounds} rounds of 2 × ${seconds} s\n\n`,
  );
  const title = `CPU time of a request with ${consoles} consoles, of that with none (95 % confidence)`;
  process.stdout.write(
    `${markdownTable(
      [title, `µs, ${consoles} consoles`, 'µs, none'],
      [[formatRatio(meanRatio(ofPairs)), micros('withConsoles'), micros('without')]],
    )}\n`,
  );
}

await main();
