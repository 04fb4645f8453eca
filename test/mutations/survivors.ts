/** Planted changes that no test can see or has to see, and why. */
export const survivors: readonly { file: string; before: string; after: string; because: string }[] = [
  {
    file: 'gateway/platform/redis/scripts/give-back-4.lua',
    before: 'elseif state.used >= cost and now + state.leftMs - lengthMs <= decidedAt + sameMs then',
    after: 'elseif state.used >= cost and now + state.leftMs - lengthMs < decidedAt + sameMs then',
    because: 'it is a tolerance for two clocks, one millisecond smaller',
  },
  {
    file: 'gateway/platform/redis/scripts/consume.lua',
    before: 'if since > 0 and now - since >= banUnderWayMs then',
    after: 'if since > 0 and now - since > banUnderWayMs then',
    because: 'it differs for a refusal in one single millisecond, the thousandth of the ban',
  },
  {
    file: 'gateway/platform/redis/scripts/change-record.lua',
    before: 'elseif tonumber(ARGV[2]) > nowSeconds then',
    after: 'elseif tonumber(ARGV[2]) >= nowSeconds then',
    because: 'it differs for an expiry that was edited into this very second',
  },
  {
    file: 'gateway/quota/address-limit.ts',
    before: 'resetMs: result === null ? windowMs : Math.min(Math.max(0, result.msBeforeNext), windowMs),',
    after: 'resetMs: result === null ? windowMs : Math.min(Math.max(1, result.msBeforeNext), windowMs),',
    because: 'it is one millisecond of a window that has just ended, and headers show whole seconds',
  },
  {
    file: 'gateway/keys/api-key-cache.ts',
    before:
      'if (last !== undefined && read.rev < last.rev) return { ...read, suspendedAt: last.suspendedAt };',
    after:
      'if (last !== undefined && read.rev <= last.rev) return { ...read, suspendedAt: last.suspendedAt };',
    because: 'every change has a rev of its own: two records with the same one say the same',
  },
  {
    file: 'gateway/quota/redis-quota.ts',
    before: 'if (waiting.length > 0) schedule();',
    after: 'if (waiting.length >= 0) schedule();',
    because: 'if nobody waits, the turn that it schedules sends nothing',
  },
];
