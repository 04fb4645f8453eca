import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectRedis } from '../support/kits/keys.ts';
import { thisGateway } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { addKnownKeys } from './known-keys.ts';
import { closedLoop } from './load.ts';
import type { PinnedProcess } from './pinned-process.ts';
import { environmentLine, markdownTable, median, writeResults } from './report.ts';
import { startContender, type RunningContender } from './running-contender.ts';

/*
 * npm run bench:growth measures the cost of a request with growing numbers of keys and of gateways on one Redis. It
 * compares CPU time, which depends less on the number of cores than request rates do.
 */

/** Which key a request has, as an index in Lua. */
const evenly = 'math.random(#keys)';
/** As in practice, where a few customers make most of the requests: the nth key has a share of 1/n. */
const byZipfsLaw = 'math.floor((#keys) ^ math.random())';
const distributions = [
  { keys: 100, title: '100, evenly', index: evenly },
  { keys: 10_000, title: '10,000, evenly', index: evenly },
  { keys: 1_000_000, title: "1,000,000, by Zipf's law", index: byZipfsLaw },
  { keys: 1_000_000, title: '1,000,000, evenly', index: evenly },
] as const;
const gatewayCounts = [1, 2, 4];
const keysForGateways = 10_000;
const rounds = 3;
const seconds = 4;
/** Warm-up for each gateway: V8 compiles on the one core that all of them share. */
const warmUpSeconds = 20;

interface Cost {
  requestsPerSecond: number;
  /** CPU time per request, of all gateways together. */
  gatewayMicros: number;
  redisMicros: number;
  /** Resident memory of one gateway. */
  residentMiB: number;
  redisMiB: number;
}

const keysScript = (file: string, index: string) => `
local keys = {}
for line in io.lines('${file}') do keys[#keys + 1] = 'Bearer ' .. line end
function request()
  return wrk.format('GET', '/v1/pets?limit=2', { authorization = keys[${index}] })
end`;

async function residentMiB({ pid }: PinnedProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

async function redisUsage(redis: Redis): Promise<{ cpuSeconds: number; memoryMiB: number }> {
  const info = await redis.info();
  const readField = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return {
    cpuSeconds: readField('used_cpu_sys') + readField('used_cpu_user'),
    memoryMiB: readField('used_memory') / 1024 / 1024,
  };
}

async function measure(fixture: Fixture, redis: Redis, gateways: number, script: string): Promise<Cost> {
  await using stack = new AsyncDisposableStack();
  const running: RunningContender[] = [];
  for (let count = 0; count < gateways; count += 1) {
    running.push(await startContender(thisGateway('gateway'), fixture, stack));
  }
  const load = async (duration: number) => {
    const runs = running.map(({ port }, index) =>
      closedLoop({
        directory: fixture.directory,
        scriptName: `wrk-${index}.lua`,
        url: `http://127.0.0.1:${port}`,
        script,
        connections: Math.ceil(50 / gateways),
        seconds: duration,
      }),
    );
    return (await Promise.all(runs)).reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
  };
  const gatewayCpu = async () => {
    const all = await Promise.all(running.map(({ process }) => process.cpuSeconds()));
    return all.reduce((sum, part) => sum + part, 0);
  };
  await load(warmUpSeconds * gateways);
  const samples: Omit<Cost, 'residentMiB' | 'redisMiB'>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [cpuBefore, redisBefore] = [await gatewayCpu(), await redisUsage(redis)];
    const requestsPerSecond = await load(seconds);
    const [cpuAfter, redisAfter] = [await gatewayCpu(), await redisUsage(redis)];
    const microsPerRequest = 1e6 / (requestsPerSecond * seconds);
    samples.push({
      requestsPerSecond,
      gatewayMicros: (cpuAfter - cpuBefore) * microsPerRequest,
      redisMicros: (redisAfter.cpuSeconds - redisBefore.cpuSeconds) * microsPerRequest,
    });
  }
  const medianOf = (field: keyof (typeof samples)[number]) => median(samples.map((sample) => sample[field]));
  const [first] = running;
  return {
    requestsPerSecond: medianOf('requestsPerSecond'),
    gatewayMicros: medianOf('gatewayMicros'),
    redisMicros: medianOf('redisMicros'),
    residentMiB: first === undefined ? Number.NaN : await residentMiB(first.process),
    redisMiB: (await redisUsage(redis)).memoryMiB,
  };
}

const costTable = (kind: string, rows: readonly (readonly [title: string, cost: Cost])[]) =>
  markdownTable(
    [kind, 'requests/s', 'gateway, CPU µs', 'Redis, CPU µs', 'gateway memory, MiB', 'Redis memory, MiB'],
    rows.map(([title, { requestsPerSecond, gatewayMicros, redisMicros, residentMiB, redisMiB }]) => [
      title,
      Math.round(requestsPerSecond).toLocaleString('en'),
      gatewayMicros.toFixed(0),
      redisMicros.toFixed(1),
      residentMiB.toFixed(0),
      redisMiB.toFixed(0),
    ]),
  );

const byKeys: [string, Cost][] = [];
const byGateways: [string, Cost][] = [];
{
  await using fixture = await setUpBench();
  const redis = (await connectRedis(`redis://127.0.0.1:${fixture.redisPort}`)) as Redis;
  const fileOf = (count: number) => join(fixture.directory, `keys-${count}`);
  for (const count of new Set(distributions.map(({ keys }) => keys))) {
    await addKnownKeys(redis, count, fileOf(count));
    for (const { title, index } of distributions.filter(({ keys }) => keys === count)) {
      byKeys.push([title, await measure(fixture, redis, 1, keysScript(fileOf(count), index))]);
      process.stderr.write(`keys: ${title}\n`);
    }
  }
  for (const count of gatewayCounts) {
    const script = keysScript(fileOf(keysForGateways), evenly);
    byGateways.push([String(count), await measure(fixture, redis, count, script)]);
    process.stderr.write(`gateways: ${count}\n`);
  }
  redis.disconnect();
}
const text = [
  `## Growth\n\n${environmentLine()}; medians of ${rounds} rounds of ${seconds} s. CPU time is per request.`,
  `### Number of keys, and how the requests are spread over them\n\n${costTable('keys', byKeys)}`,
  `### Number of gateway processes on one core with one Redis, ${keysForGateways.toLocaleString('en')} keys\n\n${costTable('gateways', byGateways)}`,
].join('\n\n');
process.stdout.write(`${text}\n`);
await writeResults('growth', { byKeys, byGateways });
