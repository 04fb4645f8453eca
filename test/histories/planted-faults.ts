/** A fault of the software, as changes of its sources. */
export interface Planted {
  name: string;
  /** Needs a coincidence of milliseconds, so that some seeds may not find it: unit tests do. */
  isRare: boolean;
  edits: readonly { file: string; before: string; after: string }[];
}

const scripts = 'gateway/platform/redis/scripts';
const edit = (file: string, before: string, after: string) => ({ file, before, after });

const addToMinute = "      redis.call('INCRBY', counterOf(state.window, use.customerTag), cost)\n";

const edits: Record<string, Planted['edits']> = {
  nothing: [],
  'the script forgets the day limit': [
    edit(
      `${scripts}/windows.lua`,
      'if state.used + cost',
      "if state.window.name ~= 'day' and state.used + cost",
    ),
  ],
  'a window allows one more than its limit': [
    edit(`${scripts}/windows.lua`, 'state.used + cost > state.limit', 'state.used > state.limit'),
  ],
  'a refused request uses the day': [
    edit(
      `${scripts}/consume.lua`,
      '    return addWindows({ outcome.limited, now',
      '    addServed(use, cost, cost - 1, retentionDays)\n    return addWindows({ outcome.limited, now',
    ),
  ],
  'each request begins the minute again': [
    edit(
      `${scripts}/consume.lua`,
      addToMinute,
      `${addToMinute}redis.call('PEXPIRE', counterOf(state.window, use.customerTag), lengthMs)\n`,
    ),
  ],
  'a cached key is believed for 2 s, whatever its rev': [
    edit(`${scripts}/consume.lua`, "if rev ~= '-1' and", "if rev == '' and"),
    edit('gateway/keys/api-key-cache.ts', 'const freshMs = 10_000;', 'const freshMs = 2000;'),
  ],
  'a change of a key does not raise its rev': [
    edit(
      `${scripts}/change-record.lua`,
      "'rev', string.format('%.0f', changed))",
      "'rev', redis.call('HGET', customer, 'rev') or string.format('%.0f', changed))",
    ),
  ],
  'strikes count from the first refusal on, without grace': [
    edit(`${scripts}/consume.lua`, 'if now - refusedSince <= graceMs then', 'if now < refusedSince then'),
  ],
  'a ban is remembered for 5 s': [
    edit('gateway/quota/bans.ts', 'const freshMs = 1000;', 'const freshMs = 5000;'),
  ],
  'a ban is remembered from its reply on': [
    edit('gateway/quota/bans.ts', 'if (ban.remainingMs <= cached.replyMs)', 'if (ban.remainingMs <= 0)'),
  ],
  'Retry-After is rounded down': [
    edit(
      'gateway/quota/rate-limit-headers.ts',
      'Math.max(1, wholeSeconds(waitMs))',
      'Math.max(1, Math.floor(waitMs / 1000))',
    ),
  ],
  'a process allows one more than the limit without Redis': [
    edit('gateway/quota/local-quota.ts', 'used <= limit', 'used <= limit + 1'),
  ],
  'what is served without Redis is not reported': [
    edit('gateway/quota/usage-reports.ts', 'report.served += 1;', ''),
  ],
  'a suspension is not believed': [
    edit(
      'gateway/keys/records.ts',
      "return suspendedAt === undefined ? 'active' : 'suspended';",
      "return suspendedAt === undefined ? 'active' : 'active';",
    ),
  ],
};

export const planted: readonly Planted[] = Object.entries(edits).map(([name, edits]) => ({
  name,
  isRare: name === 'a ban is remembered from its reply on',
  edits,
}));
