import { dayMs } from '../../gateway/limits/utc-day.ts';
import { loadScript } from '../../gateway/redis/load-script.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import type { CustomerId } from '../../gateway/redis/redis-keys.ts';

const batchSize = 1000;

/** Lua: the hash of key number n, its id, and the id of its customer, who has no other key. */
export const keyOf = `
local function keyHashOf(n)
  return redis.sha1hex(n) .. string.sub(redis.sha1hex('x' .. n), 1, 24)
end
local function keyIdOf(n)
  return 'key_' .. string.sub(redis.sha1hex('id' .. n), 1, 18)
end
local function customerOf(n)
  return 'cus_' .. string.sub(keyHashOf(n), 1, 18)
end
`;

/** Id of the customer of a key. */
export function customerOf(keyHash: string): CustomerId {
  return `cus_${keyHash.slice(0, 18)}`;
}

/** Adds the keys and their customers with records and indexes. */
export const addKeys = `${keyOf}
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local keyHash, id, customer = keyHashOf(n), keyIdOf(n), customerOf(n)
  local name, createdAt, createdAtMs = 'Customer number ' .. n, '2026-09-21T05:27:48.258Z', 1795000000000 + n
  redis.call('HSET', 'gw:customer:{' .. customer .. '}', 'id', customer, 'name', name, 'plan', 'free',
    'createdAt', createdAt, 'rev', 1)
  redis.call('HSET', 'gw:key:{' .. customer .. '}:' .. keyHash, 'id', id, 'name', name, 'hint', 'pets_Ab1C',
    'createdAt', createdAt)
  redis.call('SADD', 'gw:customer-keys:{' .. customer .. '}', id)
  redis.call('SET', 'gw:key-customer:' .. keyHash, customer)
  redis.call('HSET', 'gw:key-ids', id, customer .. ':' .. keyHash)
  redis.call('ZADD', 'gw:keys', createdAtMs, id)
  redis.call('ZADD', 'gw:customers', createdAtMs, customer)
end`;

/**
 * Writes what a month of requests leaves behind (usage-record.test.ts has the same fields): each customer makes requests on every day,
 * and refused on each fifth one. The last day of the last month is still in its counter.
 */
const addMonth = `${loadScript('usage.lua')}${keyOf}
local first, last, isLastMonth = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
for n = tonumber(ARGV[1]), tonumber(ARGV[2]) - 1 do
  local customerTag = '{' .. customerOf(n) .. '}'
  local fields = { 'id', customerOf(n), 'name', 'Customer number ' .. n }
  for day = first, last do
    local served = string.format('%.0f', (n * 7919 + day * 104729) % 1000 + 1)
    local date = utcDate(day)
    if isLastMonth and day == last then
      table.insert(fields, 'open')
      table.insert(fields, string.sub(date, 7))
      redis.call('SET', dayCounter(customerTag, date), served, 'EXAT', usageExpiry(customerTag, day, 4000))
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
  local month = usageMonth(customerTag, utcDate(first))
  redis.call('HSET', month, unpack(fields))
  redis.call('EXPIREAT', month, usageExpiry(customerTag, last, 4000))
end`;

/** Runs a script for all keys, a batch at a time. */
export async function forAllKeys(
  redis: RedisClient,
  lua: string,
  count: number,
  ...args: number[]
): Promise<void> {
  for (let start = 0; start < count; start += batchSize) {
    await redis.eval(lua, 0, start, Math.min(start + batchSize, count), ...args);
  }
}

/** @param months number of months, of which the last is October 2026 */
export async function recordMonths(redis: RedisClient, count: number, months: number): Promise<void> {
  for (let ago = months - 1; ago >= 0; ago -= 1) {
    const [first, next] = [0, 1].map((later) => Date.UTC(2026, 9 - ago + later, 1) / dayMs);
    await forAllKeys(redis, addMonth, count, first ?? 0, (next ?? 0) - 1, ago === 0 ? 1 : 0);
  }
}
