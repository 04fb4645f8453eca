/** Planted changes that no test can see or has to see, and why. */
export const survivors: readonly { file: string; before: string; after: string; because: string }[] = [
  {
    file: 'gateway/platform/redis/scripts/give-back-4.lua',
    before: 'local isSame = leftMs > 0 and now + leftMs - window.lengthMs <= decidedAt + sameMs',
    after: 'local isSame = leftMs > 0 and now + leftMs - window.lengthMs < decidedAt + sameMs',
    because: 'it is a tolerance for two clocks, one millisecond smaller',
  },
  {
    file: 'gateway/platform/redis/scripts/bans.lua',
    before: 'return leftMs, value, banMs - leftMs >= banUnderWayMs, wholeNumber(last[3])',
    after: 'return leftMs, value, banMs - leftMs > banUnderWayMs, wholeNumber(last[3])',
    because: 'it differs for a refusal in one single millisecond, the thousandth of the ban',
  },
  {
    file: 'gateway/platform/redis/scripts/add-usage-2.lua',
    before:
      "local isOver = dayNumber < today and redis.call('EXISTS', dayCounter(customerTag, utcDate(today))) == 1",
    after:
      "local isOver = dayNumber < today or redis.call('EXISTS', dayCounter(customerTag, utcDate(today))) == 1",
    because:
      'the units of an earlier day count the same in its record, to which they come from its counter when another day opens',
  },
  {
    file: 'gateway/platform/redis/scripts/consume.lua',
    before: 'local yesterday = utcDate(dayNumber - 1)',
    after: 'local yesterday = utcDate(dayNumber - 2)',
    because:
      'it only tells whether a request was allowed since the last refusal: the next one that is gives today a counter, and so another text',
  },
  {
    file: 'gateway/quota/redis-quota.ts',
    before: 'if (waiting.length > 0) schedule();',
    after: 'if (waiting.length >= 0) schedule();',
    because: 'if nobody waits, the turn that it schedules sends nothing',
  },
];
