import { dayNumberOf, utcDate } from '../../../gateway/limits/utc-day.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { redisKeys, type KeyPlace } from '../../../gateway/platform/redis/redis-keys.ts';

/** Lets time pass for what belongs to one API key, because the clock of the server cannot be set. */
export interface SimulatedTime {
  /** The server's clock, in Unix milliseconds. */
  serverMs(): Promise<number>;
  /**
   * Moves all times into the past, which looks as if time had passed; or into the future, as if the server's clock had been
   * set back.
   */
  moveTimes(passedMs: number): Promise<void>;
  /** Makes today's counter yesterday's, and open if it was. The record of the days before is deleted. */
  passMidnights(count: number): Promise<void>;
}

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
  for _, field in ipairs({ 'refusedSince', 'strikesSince', 'bannedUntil' }) do
    local text = redis.call('HGET', KEYS[3], field)
    if text and string.find(text, '^[1-9]%d*$') then
      redis.call('HSET', KEYS[3], field, string.format('%.0f', math.max(0, tonumber(text) - passed)))
    end
  end
end
`;

/** Older counters than yesterday's would have expired. */
const midnightScript = `
local today, yesterday = ARGV[2], ARGV[3]
local open = redis.call('HGET', KEYS[4], 'open')
local beyond = redis.call('HGET', KEYS[4], 'x' .. string.sub(today, 7))
redis.call('DEL', KEYS[4], KEYS[5])
if ARGV[1] == '1' and open == string.sub(today, 7) then
  redis.call('HSET', KEYS[5], 'open', string.sub(yesterday, 7))
  redis.call('EXPIRE', KEYS[5], 86400)
end
if ARGV[1] == '1' and beyond then
  redis.call('HSET', KEYS[5], 'x' .. string.sub(yesterday, 7), beyond)
  redis.call('EXPIRE', KEYS[5], 86400)
end
if ARGV[1] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[3])
else
  redis.call('DEL', KEYS[2], KEYS[3])
end
if redis.call('TYPE', KEYS[1]).ok == 'hash' then
  local text = redis.call('HGET', KEYS[1], 'lastAllowed')
  if text then
    local moved = ''
    if ARGV[1] == '1' and string.sub(text, 1, 8) == today then
      moved = yesterday .. string.sub(text, 9)
    end
    redis.call('HSET', KEYS[1], 'lastAllowed', moved)
  end
end
`;

/** @param customerId whose counters time passes for as well: another one than the key's for a further key */
export function createSimulatedTime(
  redis: RedisClient,
  place: KeyPlace,
  customerId = place.customerId,
): SimulatedTime {
  const strikesKey = redisKeys.strikes(place);

  async function serverMs(): Promise<number> {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  }

  return {
    serverMs,
    async moveTimes(passedMs) {
      const keys = [redisKeys.openWindow(customerId, 'minute'), redisKeys.ban(place), strikesKey];
      await redis.eval(moveScript, keys.length, ...keys, passedMs);
    },
    async passMidnights(count) {
      if (count === 0) return;
      const dayNumber = dayNumberOf(await serverMs());
      const [today, yesterday] = [utcDate(dayNumber), utcDate(dayNumber - 1)];
      const dates = [today, yesterday];
      const keys = [
        strikesKey,
        ...dates.map((date) => redisKeys.day(customerId, date)),
        ...dates.map((date) => redisKeys.usageMonth(customerId, date.slice(0, 6))),
      ];
      await redis.eval(midnightScript, keys.length, ...keys, count, today, yesterday);
    },
  };
}
