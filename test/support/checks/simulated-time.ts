import { dayNumberOf, utcDate } from '../../../gateway/limits/windows.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../../../gateway/platform/redis/redis-keys.ts';

/** Changes each expiry, shifts each stored time, and deletes expired keys. */
const moveScript = `
local passed = tonumber(ARGV[1])
for index = 1, 3 do
  local left = redis.call('PTTL', KEYS[index])
  if left >= 0 and left > passed then
    redis.call('PEXPIRE', KEYS[index], left - passed)
  elseif left >= 0 then
    redis.call('DEL', KEYS[index])
  end
end
if redis.call('TYPE', KEYS[3]).ok == 'hash' then
  for _, field in ipairs({ 'refusedSince', 'strikesSince', 'bannedSince', 'bannedUntil' }) do
    local text = redis.call('HGET', KEYS[3], field)
    if text and string.find(text, '^[1-9]%d*$') then
      redis.call('HSET', KEYS[3], field, string.format('%.0f', math.max(0, tonumber(text) - passed)))
    end
  end
end
`;

/** The sum of the month stays where it is: a midnight of the scenario ends no month. */
const midnightScript = `
local today, yesterday = ARGV[2], ARGV[3]
for _, prefix in ipairs({ '', 'x', 'g' }) do
  local use = redis.call('HGET', KEYS[1], prefix .. today)
  redis.call('HDEL', KEYS[1], prefix .. today)
  redis.call('HDEL', KEYS[2], prefix .. yesterday)
  if ARGV[1] == '1' and use then
    redis.call('HSET', KEYS[2], prefix .. yesterday, use)
    redis.call('EXPIRE', KEYS[2], 86400)
  end
end
`;

/** @param customerId whose counters time passes for as well: another one than the key's for a further key */
export function createSimulatedTime(redis: RedisClient, place: KeyPlace, customerId = place.customerId) {
  const strikesKey = redisKeys.strikes(place);

  async function serverMs(): Promise<number> {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  return {
    /** The server's clock, in Unix milliseconds. */
    serverMs,
    /**
     * Moves all times into the past, which looks as if time had passed; or into the future, as if the server's clock had been
     * set back.
     */
    async moveTimes(passedMs: number) {
      const keys = [redisKeys.openWindow(customerId, 'minute'), redisKeys.ban(place), strikesKey];
      await redis.eval(moveScript, keys.length, ...keys, passedMs);
    },
    /** Makes the use of today that of yesterday, in the same month. The days before are deleted. */
    async passMidnights(count: number) {
      if (count === 0) return;
      const dayNumber = dayNumberOf(await serverMs());
      const [today, yesterday] = [utcDate(dayNumber), utcDate(dayNumber - 1)];
      const keys = [today, yesterday].map((date) => redisKeys.usageMonth(customerId, date.slice(0, 6)));
      await redis.eval(midnightScript, keys.length, ...keys, count, today.slice(6), yesterday.slice(6));
    },
  };
}
