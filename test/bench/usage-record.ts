import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createCaller } from '../../gateway/api-keys/api-key-cache.ts';
import { defaultBanPolicy, formatScriptArgument } from '../../gateway/quota/ban-policy.ts';
import { createQuotaBatch } from '../../gateway/quota/quota-batch.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import { dayMs } from '../../gateway/quota/utc-day.ts';
import { scriptPrelude, type RedisClient } from '../../gateway/redis/redis-client.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { scriptClock } from '../support/stores/scripted-clock.ts';
import { environmentLine, markdownTable, writeResults } from './report.ts';

/*
 * npm run bench:usage [-- KEYS] measures the record of use: its memory, the first request of a day, and an export. The days
 * are recorded by the functions of usage.lua itself. A million keys take some ten minutes and 5 GB.
 */

const keys = Number(process.argv[2] ?? 1_000_000);
const exportedKeys = Math.min(keys, 100_000);
const batchSize = 1000;
const month = { first: Date.UTC(2026, 9, 1) / dayMs, last: Date.UTC(2026, 9, 31) / dayMs };

const keyOf = `
local function keyHashOf(n)
  return redis.sha1hex(n) .. string.sub(redis.sha1hex('x' .. n), 1, 24)
end
`;

const addKeys = `${keyOf}
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local keyHash, id = keyHashOf(n), 'key_' .. string.sub(redis.sha1hex('id' .. n), 1, 18)
  redis.call('HSET', 'gw:key:{' .. keyHash .. '}', 'id', id, 'name', 'Customer number ' .. n, 'plan', 'free',
    'hint', 'pets_Ab1C', 'createdAt', '2026-09-21T05:27:48.258Z', 'rev', 1)
  redis.call('HSET', 'gw:key-ids', id, keyHash)
  redis.call('ZADD', 'gw:keys', 1795000000000 + n, id)
end`;

/** Each key is used on every day, and refused on each fifth one. */
const addDay = `${scriptPrelude}${keyOf}
local dayNumber = tonumber(ARGV[3])
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local keyTag = '{' .. keyHashOf(n) .. '}'
  openDay(keyTag, dayNumber, (n * 7919 + dayNumber * 104729) % 1000 + 1, 4000)
  if (n + dayNumber) % 5 == 0 then
    addToDay(keyTag, dayNumber, 'r', (n + dayNumber) % 90 + 1, 4000)
  end
end`;

/** Runs a script for all keys, a batch at a time. */
async function forAllKeys(redis: RedisClient, lua: string, count: number, ...args: number[]): Promise<void> {
  for (let start = 0; start < count; start += batchSize) {
    await redis.eval(lua, 0, start, Math.min(start + batchSize, count), ...args);
  }
}

async function infoNumber(redis: RedisClient, section: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(await redis.info(section))?.[1] ?? 0);
}

const usedBytes = (redis: RedisClient) => infoNumber(redis, 'memory', /^used_memory:(\d+)/m);
const scriptMicros = (redis: RedisClient) =>
  infoNumber(redis, 'commandstats', /^cmdstat_evalsha:calls=\d+,usec=(\d+)/m);

async function recordDays(redis: RedisClient, count: number, first: number, last: number): Promise<void> {
  for (let day = first; day <= last; day += 1) await forAllKeys(redis, addDay, count, day);
}

/** Redis' time in the script for one request of each key, in microseconds a request. */
async function requestMicros(redis: RedisClient, keyHashes: readonly string[]): Promise<number> {
  const batch = createQuotaBatch({ redis, gate: { open: true, outages: 0, send: (command) => command() } });
  const before = await scriptMicros(redis);
  for (let start = 0; start < keyHashes.length; start += batchSize) {
    await Promise.all(
      keyHashes.slice(start, start + batchSize).map((keyHash) => {
        const record = { id: 'k', name: '', plan: 'free', hint: '', createdAt: '', rev: 1 };
        const limits = { minute: 1_000_000, day: 1_000_000 };
        return consumeQuota(
          batch,
          createCaller(record, keyHash),
          limits,
          formatScriptArgument(defaultBanPolicy),
        );
      }),
    );
  }
  return ((await scriptMicros(redis)) - before) / keyHashes.length;
}

/** Runs an export of the whole month. @returns its rows, its time, and the most memory that it took */
async function measureExport(url: string): Promise<{ rows: number; seconds: number; peakMiB: number }> {
  const args = ['gateway/ops/main.ts', 'usage', 'export', '--from', '2026-10-01', '--to', '2026-10-31'];
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...process.env, REDIS_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let [rows, peakKiB] = [-1, 0];
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) rows += 1;
  });
  const sampler = setInterval(() => {
    readFile(`/proc/${child.pid}/status`, 'utf8').then(
      (status) => {
        peakKiB = Math.max(peakKiB, Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0));
      },
      () => {},
    );
  }, 50);
  await once(child, 'close');
  clearInterval(sampler);
  return { rows, seconds: (performance.now() - startedAt) / 1000, peakMiB: peakKiB / 1024 };
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
  await recordDays(redis, keys, month.first, month.first);
  const oneDay = await usedBytes(redis);
  await recordDays(redis, keys, month.first + 1, month.last);
  const full = await usedBytes(redis);
  const days = month.last - month.first + 1;
  const lua = `${keyOf} local list = {} for n = 0, tonumber(ARGV[1]) - 1 do list[n + 1] = keyHashOf(n) end return list`;
  const keyHashes = (await redis.eval(lua, 0, exportedKeys)) as string[];
  const setClock = scriptClock(redis);
  await setClock((month.last + 1) * dayMs);
  const firstOfMonth = await requestMicros(redis, keyHashes);
  const later = await requestMicros(redis, keyHashes);
  await setClock((month.last + 2) * dayMs);
  const firstOfDay = await requestMicros(redis, keyHashes);
  redis.disconnect();
  const perKey = (bytes: number) => (bytes - empty) / keys;
  return {
    firstDay: perKey(oneDay),
    month: perKey(full),
    perDay: perKey(full) / days,
    firstOfMonth,
    firstOfDay,
    later,
  };
}

/** Memory of a year, and exports. */
async function measureYear() {
  const { server, url, redis } = await startServer();
  await using _server = server;
  await forAllKeys(redis, addKeys, exportedKeys);
  const empty = await usedBytes(redis);
  await recordDays(redis, exportedKeys, month.last - 364, month.last);
  const bytes = ((await usedBytes(redis)) - empty) / exportedKeys;
  await redis.hset('gw:usage-policy', 'retentionDays', 400);
  const exported = await measureExport(url);
  redis.disconnect();
  return { bytes, ...exported };
}

const [ofMonth, year] = [await measureMonth(), await measureYear()];
const micros = (value: number) => `${value.toFixed(1)} µs`;
const bytes = (value: number) => `${Math.round(value)} bytes`;
const table = markdownTable(
  ['measured', 'result'],
  [
    [`Redis memory a key and day, a full month, ${keys.toLocaleString('en')} keys`, bytes(ofMonth.perDay)],
    ['Redis memory of the first day of a month, a key', bytes(ofMonth.firstDay)],
    ['Redis memory of a full month, a key', bytes(ofMonth.month)],
    [`Redis memory of a year, a key, ${exportedKeys.toLocaleString('en')} keys`, bytes(year.bytes)],
    ['script, a request that is not the first of its day', micros(ofMonth.later)],
    ['script, the first request of a day', micros(ofMonth.firstOfDay)],
    ['script, the first request of a month', micros(ofMonth.firstOfMonth)],
    [`export of a month, ${year.rows.toLocaleString('en')} rows`, `${year.seconds.toFixed(1)} s`],
    ['memory of that export at its peak', `${Math.round(year.peakMiB)} MiB`],
  ],
);
const text = `# Record of use\n\n${environmentLine()}. Each key is used on every day, and refused on each fifth one.\n\n${table}\n`;
await writeResults('usage-record', text, { keys, exportedKeys, month: ofMonth, year });
process.stdout.write(text);
