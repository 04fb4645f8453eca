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
 * npm run bench:usage [-- KEYS] measures the record of use: its memory, the first request of a day, and an export.
 */

const keys = Number(process.argv[2] ?? 1_000_000);
const exportedKeys = Math.min(keys, 100_000);
const batchSize = 1000;
const daysOfOctober = 31;

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

/**
 * Writes what a month of requests leaves behind (usage-record.test.ts has the same fields): each key is used on every day,
 * and refused on each fifth one. The last day of the last month is still in its counter.
 */
const addMonth = `${scriptPrelude}${keyOf}
local first, last, isLastMonth = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local keyTag = '{' .. keyHashOf(n) .. '}'
  local fields = { 'id', 'key_' .. string.sub(redis.sha1hex('id' .. n), 1, 18), 'name', 'Customer number ' .. n }
  for day = first, last do
    local served = string.format('%.0f', (n * 7919 + day * 104729) % 1000 + 1)
    local date = utcDate(day)
    if isLastMonth and day == last then
      table.insert(fields, 'open')
      table.insert(fields, string.sub(date, 7))
      redis.call('SET', dayCounter(keyTag, date), served, 'EXAT', usageExpiry(keyTag, day, 4000))
    else
      table.insert(fields, string.sub(date, 7))
      table.insert(fields, served)
    end
    if (n + day) % 5 == 0 then
      table.insert(fields, 'r' .. string.sub(date, 7))
      table.insert(fields, (n + day) % 90 + 1)
    end
    if day == first then
      for _, text in ipairs({ 'plan', 'free', 'p' .. string.sub(date, 7), 'free' }) do
        table.insert(fields, text)
      end
    end
  end
  local month = usageMonth(keyTag, utcDate(first))
  redis.call('HSET', month, unpack(fields))
  redis.call('EXPIREAT', month, usageExpiry(keyTag, last, 4000))
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

/** @param months number of months, of which the last is October 2026 */
async function recordMonths(redis: RedisClient, count: number, months: number): Promise<void> {
  for (let ago = months - 1; ago >= 0; ago -= 1) {
    const [first, next] = [0, 1].map((later) => Date.UTC(2026, 9 - ago + later, 1) / dayMs);
    await forAllKeys(redis, addMonth, count, first ?? 0, (next ?? 0) - 1, ago === 0 ? 1 : 0);
  }
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
const text = `# Record of use\n\n${environmentLine()}. Each key is used on every day, and refused on each fifth one. Times mean something relative to each other only.\n\n${table}\n`;
await writeResults('usage-record', text, { keys, exportedKeys, month: ofMonth, year });
process.stdout.write(text);
