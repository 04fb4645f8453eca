import { randomBytes } from 'node:crypto';
import { anyRev, createCaller } from '../../../gateway/keys/api-key-cache.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { defaultBanPolicy, type BanPolicy } from '../../../gateway/quota/policies.ts';
import type { QuotaDecision } from '../../../gateway/quota/quota-decision.ts';
import { retryAfter } from '../../../gateway/quota/rate-limit-headers.ts';
import { consumeQuota } from '../../../gateway/quota/redis-quota.ts';
import { createOpenBatch } from '../kits/quota-batch.ts';
import { createSimulatedTime } from './simulated-time.ts';

type Answered = Exclude<QuotaDecision, { outcome: 'stale' }>;

/** Decides how long a client waits, in milliseconds, after each decision on one of its requests. */
export type Client = (decision: Answered) => number;

/** Waits exactly as long as Retry-After says. */
export const obedient = (betweenMs: number): Client => {
  return (decision) => {
    if (decision.outcome === 'allowed') return betweenMs;
    const waitMs =
      decision.outcome === 'banned'
        ? decision.remainingMs
        : (decision.windows[decision.violated]?.resetMs ?? 0);
    return Number(retryAfter(waitMs)['Retry-After']) * 1000;
  };
};

/** Backs off exponentially from 1 s. @param jitter returns the factor of each wait */
export const backingOff = (betweenMs: number, jitter: () => number): Client => {
  let waitMs = 1000;
  return ({ outcome }) => {
    if (outcome === 'allowed') {
      waitMs = 1000;
      return betweenMs;
    }
    waitMs *= 2;
    return (waitMs / 2) * jitter();
  };
};

/** Sends at a constant rate, whatever is responded. */
export const steady = (perSecond: number): Client => {
  return () => 1000 / perSecond;
};

export interface Observed {
  /** Time since the start of the run. */
  atMs: number;
  outcome: Answered['outcome'];
  /** Length of the ban that the request led to. */
  banMs?: number;
}

export interface RunOptions {
  limits: { minute: number; day?: number };
  clients: Client[];
  /** Time between the starts of two clients. */
  staggerMs?: number;
  forMs: number;
  policy?: Partial<BanPolicy>;
  /** Number of bans after which the run ends early. */
  maxBans?: number;
}

/** Runs clients that share one API key on the real script, in simulated time, and returns what became of their requests. */
export async function runClients(redis: RedisClient, options: RunOptions): Promise<Observed[]> {
  const { limits, clients, staggerMs = 0, forMs, policy, maxBans = Number.POSITIVE_INFINITY } = options;
  const keyHash = randomBytes(32).toString('hex');
  const customerId = `cus_${keyHash.slice(0, 18)}` as const;
  const record = { id: 'k', customerId, name: '', plan: 'p', hint: '', createdAt: '', rev: anyRev };
  const caller = createCaller(record, keyHash);
  const time = createSimulatedTime(redis, { customerId, keyHash });
  const batch = createOpenBatch(redis, { ...defaultBanPolicy, ...policy });
  const allLimits = { day: 1_000_000, ...limits };

  let passedMs = 0;
  let bans = 0;
  const startMs = await time.serverMs();
  const observed: Observed[] = [];
  const waiting = clients.map((client, index) => ({ client, dueMs: index * staggerMs }));
  for (;;) {
    const next = waiting.reduce((first, other) => (other.dueMs < first.dueMs ? other : first));
    if (next.dueMs >= forMs) return observed;
    const elapsedMs = (await time.serverMs()) - startMs + passedMs;
    // A little late is as if the client was.
    const toPassMs = Math.ceil(next.dueMs - elapsedMs);
    if (toPassMs > 0) {
      await time.moveTimes(toPassMs);
      passedMs += toPassMs;
    }
    const decision = await consumeQuota(batch, { caller, limits: allLimits });
    if (decision.outcome === 'stale') throw new Error('the record of the key is stale');
    const atMs = decision.nowMs - startMs + passedMs;
    const isNewBan = decision.outcome === 'banned' && decision.isNew;
    if (isNewBan) bans += 1;
    observed.push({ atMs, outcome: decision.outcome, ...(isNewBan ? { banMs: decision.remainingMs } : {}) });
    if (bans === maxBans) return observed;
    next.dueMs = Math.max(atMs, next.dueMs) + next.client(decision);
  }
}
