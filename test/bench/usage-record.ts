import { createCaller } from '../../gateway/api-keys/api-key-cache.ts';
import { dayMs } from '../../gateway/limits/utc-day.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { scriptClock } from '../support/stores/scripted-clock.ts';
import { measureOps } from './measured-command.ts';
import { addKeys, customerOf, forAllKeys, keyOf, recordMonths } from './recorded-keys.ts';
import { environmentLine, markdownTable, writeResults } from './report.ts';

/*
 * npm run bench:usage [-- KEYS] measures the record of use: its memory, the first request of a day, and an export.
 */

const keys = Number(process.argv[2] ?? 1_000_000);
const exportedKeys = Math.min(keys, 100_000);
const batchSize = 1000;
const daysOfOctober = 31;

async function infoNumber(redis: RedisClient, section: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(await redis.info(section))?.[1] ?? 0);
}

const usedBytes = (redis: RedisClient) => infoNumber(redis, 'memory', /^used_memory:(\d+)/m);
const scriptMicros = (redis: RedisClient) =>
  infoNumber(redis, 'commandstats', /^cmdstat_evalsha:calls=\d+,usec=(\d+)/m);

/** Redis' time in the script for one request of each key, in microseconds a request. */
async function requestMicros(redis: RedisClient, keyHashes: readonly string[]): Promise<number> {
  const batch = createOpenBatch(redis);
  const before = await scriptMicros(redis);
  for (let start = 0; start < keyHashes.length; start += batchSize) {
    await Promise.all(
      keyHashes.slice(start, start + batchSize).map((keyHash) => {
        const customerId = customerOf(keyHash);
        const record = { id: 'k', customerId, name: '', plan: 'free', hint: '', createdAt: '', rev: 1 };
        const limits = { minute: 1_000_000, day: 1_000_000 };
        return consumeQuota(batch, { caller: createCaller(record, keyHash), limits });
      }),
    );
  }
  return ((await scriptMicros(redis)) - before) / keyHashes.length;
}

async function startServer() {
  const server = await startRedisProcess(() => ['--save', '', '--appendonly', 'no']);
  const url = `redis://127.0.0.1:${server.port}`;
  return { server, url, redis: await connectRedis(url) };
}

/** Memory of a month, and what the next day costs. */
async function measureMonth() {
  const { server, redis } = await startServer();
  await using _server = server;
  await forAllKeys(redis, addKeys, keys);
  const empty = await usedBytes(redis);
  await recordMonths(redis, keys, 1);
  const bytes = ((await usedBytes(redis)) - empty) / keys;
  const lua = `${keyOf} local list = {} for n = 0, tonumber(ARGV[1]) - 1 do list[n + 1] = keyHashOf(n) end return list`;
  const keyHashes = (await redis.eval(lua, 0, exportedKeys)) as string[];
  const setClock = scriptClock(redis);
  const november = Date.UTC(2026, 10, 1);
  await setClock(november);
  const firstOfMonth = await requestMicros(redis, keyHashes);
  const later = await requestMicros(redis, keyHashes);
  await setClock(november + dayMs);
  const firstOfDay = await requestMicros(redis, keyHashes);
  redis.disconnect();
  return { bytes, bytesPerDay: bytes / daysOfOctober, firstOfMonth, firstOfDay, later };
}

/** Memory of a year, and exports. */
async function measureYear() {
  const { server, url, redis } = await startServer();
  await using _server = server;
  await forAllKeys(redis, addKeys, exportedKeys);
  const empty = await usedBytes(redis);
  await recordMonths(redis, exportedKeys, 12);
  const bytes = ((await usedBytes(redis)) - empty) / exportedKeys;
  await redis.hset('gw:usage-policy', 'retentionDays', 400);
  const october = ['--from', '2026-10-01', '--to', '2026-10-31'];
  const { lines, seconds, peakMiB } = await measureOps(url, ['usage', 'export', ...october]);
  redis.disconnect();
  return { bytes, rows: lines - 1, seconds, peakMiB };
}

const [ofMonth, year] = [await measureMonth(), await measureYear()];
const micros = (value: number) => `${value.toFixed(1)} µs`;
const bytes = (value: number) => `${Math.round(value)} bytes`;
const table = markdownTable(
  ['measured', 'result'],
  [
    [
      `Redis memory a key and day, a full month, ${keys.toLocaleString('en')} keys`,
      bytes(ofMonth.bytesPerDay),
    ],
    ['Redis memory of a full month, a key', bytes(ofMonth.bytes)],
    [`Redis memory of a year, a key, ${exportedKeys.toLocaleString('en')} keys`, bytes(year.bytes)],
    ['script, a request that is not the first of its day', micros(ofMonth.later)],
    ['script, the first request of a day', micros(ofMonth.firstOfDay)],
    ['script, the first request of a month', micros(ofMonth.firstOfMonth)],
    [`export of a month, ${year.rows.toLocaleString('en')} rows`, `${year.seconds.toFixed(1)} s`],
    ['memory of that export at its peak', `${Math.round(year.peakMiB)} MiB`],
  ],
);
const text = `## Record of use\n\n${environmentLine()}. Each key is used on every day, and refused on each fifth one. Times mean something relative to each other only.\n\n${table}\n`;
await writeResults('usage-record', text, { keys, exportedKeys, month: ofMonth, year });
process.stdout.write(text);
