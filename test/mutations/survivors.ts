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
    file: 'gateway/quota/redis-quota.ts',
    before: 'if (waiting.length > 0) schedule();',
    after: 'if (waiting.length >= 0) schedule();',
    because: 'if nobody waits, the turn that it schedules sends nothing',
  },
];
