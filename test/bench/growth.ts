import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { generateApiKey, hashApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { maxLimit } from '../../gateway/plans/limits.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { contenders } from './contenders.ts';
import { setUpBench, type Fixture } from './fixture.ts';
import { closedLoop } from './load.ts';
import type { PinnedProcess } from './pinned-process.ts';
import { environmentLine, median, table, writeResults } from './report.ts';

/*
 * npm run bench:growth: what a request costs the gateway and Redis as there are more keys, and more gateways on one
 * Redis. CPU time is what counts here: it depends less on how many cores there are than rates do.
 */

const keyCounts = [100, 10_000, 1_000_000];
const gatewayCounts = [1, 2, 4];
const keysForGateways = 10_000;
const rounds = 3;
const seconds = 4;
const warmUpSeconds = 8;
const batch = 1000;
const idLength = 18;

interface Cost {
  requestsPerSecond: number;
  /** CPU time of a request in microseconds: of the gateways, and of Redis. */
  gatewayMicros: number;
  redisMicros: number;
  /** Of one gateway, in MiB. */
  residentMiB: number;
  /** In MiB. */
  redisMiB: number;
}

async function addKeys(redis: Redis, count: number, file: string): Promise<void> {
  const keys: string[] = [];
  while (keys.length < count) {
    const pipeline = redis.pipeline();
    for (let added = 0; added < Math.min(batch, count); added += 1) {
      const key = generateApiKey();
      const keyHash = hashApiKey(key);
      const record = {
        id: `key_${keyHash.slice(0, idLength)}`,
        name: 'bench',
        plan: 'enterprise',
        hint: 'pets_…',
      };
      const limits = { minute: maxLimit, day: maxLimit, createdAt: new Date().toISOString(), rev: 1 };
      pipeline.hset(redisKeys.apiKey(keyHash), { ...record, ...limits });
      keys.push(key);
    }
    await pipeline.exec();
  }
  await writeFile(file, keys.join('\n'));
}

const spread = (file: string) => `
local keys = {}
for line in io.lines('${file}') do keys[#keys + 1] = 'Bearer ' .. line end
function request()
  return wrk.format('GET', '/v1/pets?limit=2', { authorization = keys[math.random(#keys)] })
end`;

async function residentMiB({ pid }: PinnedProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

async function redisUse(redis: Redis): Promise<{ cpuSeconds: number; mebibytes: number }> {
  const info = await redis.info();
  const valueOf = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return {
    cpuSeconds: valueOf('used_cpu_sys') + valueOf('used_cpu_user'),
    mebibytes: valueOf('used_memory') / 1024 / 1024,
  };
}

async function measure(fixture: Fixture, redis: Redis, gateways: number, file: string): Promise<Cost> {
  const contender = contenders.find(({ name }) => name === 'gateway');
  if (contender === undefined) throw new Error('the gateway is no contender');
  await using stack = new AsyncDisposableStack();
  const running: { port: number; process: PinnedProcess }[] = [];
  for (let count = 0; count < gateways; count += 1) {
    const port = await freePort();
    const process = await contender.start(fixture, port);
    stack.defer(() => process.stop());
    running.push({ port, process });
  }
  const load = async (duration: number) => {
    const runs = running.map(({ port }, index) =>
      closedLoop({
        directory: fixture.directory,
        name: `wrk-${index}.lua`,
        url: `http://127.0.0.1:${port}`,
        script: spread(file),
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
  await load(warmUpSeconds);
  const samples: Omit<Cost, 'residentMiB' | 'redisMiB'>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [cpuBefore, redisBefore] = [await gatewayCpu(), await redisUse(redis)];
    const requestsPerSecond = await load(seconds);
    const [cpuAfter, redisAfter] = [await gatewayCpu(), await redisUse(redis)];
    const microsEach = 1e6 / (requestsPerSecond * seconds);
    samples.push({
      requestsPerSecond,
      gatewayMicros: (cpuAfter - cpuBefore) * microsEach,
      redisMicros: (redisAfter.cpuSeconds - redisBefore.cpuSeconds) * microsEach,
    });
  }
  const of = (field: keyof (typeof samples)[number]) => median(samples.map((sample) => sample[field]));
  const [first] = running;
  return {
    requestsPerSecond: of('requestsPerSecond'),
    gatewayMicros: of('gatewayMicros'),
    redisMicros: of('redisMicros'),
    residentMiB: first === undefined ? Number.NaN : await residentMiB(first.process),
    redisMiB: (await redisUse(redis)).mebibytes,
  };
}

const costTable = (kind: string, rows: readonly (readonly [count: number, cost: Cost])[]) =>
  table(
    [kind, 'requests/s', 'gateway CPU µs', 'Redis CPU µs', 'memory of a gateway MiB', 'memory of Redis MiB'],
    rows.map(([count, { requestsPerSecond, gatewayMicros, redisMicros, residentMiB, redisMiB }]) => [
      count.toLocaleString('en'),
      Math.round(requestsPerSecond).toLocaleString('en'),
      gatewayMicros.toFixed(0),
      redisMicros.toFixed(1),
      residentMiB.toFixed(0),
      redisMiB.toFixed(0),
    ]),
  );

const byKeys: [number, Cost][] = [];
const byGateways: [number, Cost][] = [];
{
  await using fixture = await setUpBench();
  const redis = (await connectRedis(`redis://127.0.0.1:${fixture.redisPort}`)) as Redis;
  for (const count of keyCounts) {
    const file = join(fixture.directory, `keys-${count}`);
    await addKeys(redis, count, file);
    byKeys.push([count, await measure(fixture, redis, 1, file)]);
    process.stderr.write(`${count} keys\n`);
  }
  for (const count of gatewayCounts) {
    const file = join(fixture.directory, `keys-${keysForGateways}`);
    byGateways.push([count, await measure(fixture, redis, count, file)]);
    process.stderr.write(`${count} gateways\n`);
  }
  redis.disconnect();
}
const text = [
  `# Growth\n\n${environmentLine()}; medians of ${rounds} rounds of ${seconds} s. CPU time is that of one request.`,
  `### Requests spread evenly over so many keys\n\n${costTable('keys', byKeys)}`,
  `### So many gateway processes on one core and one Redis, ${keysForGateways.toLocaleString('en')} keys\n\n${costTable('gateways', byGateways)}`,
].join('\n\n');
process.stdout.write(`${text}\n`);
await writeResults('growth', text, { byKeys, byGateways });
