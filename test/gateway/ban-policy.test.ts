import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { anyRev, createCaller } from '../../gateway/keys/api-key-cache.ts';
import { defaultPlans } from '../../gateway/limits/limits.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { defaultBanPolicy, type BanPolicy } from '../../gateway/quota/policies.ts';
import type { Ban, QuotaDecision } from '../../gateway/quota/quota-decision.ts';
import { retryAfter } from '../../gateway/quota/rate-limit-headers.ts';
import { consumeQuota } from '../../gateway/quota/redis-quota.ts';
import { createSimulatedTime } from '../support/checks/simulated-time.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { createOpenBatch } from '../support/kits/quota-batch.ts';
import { shared } from '../support/kits/shared.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

type Answered = Exclude<QuotaDecision, { outcome: 'stale' }>;

/** Decides how long a client waits, in milliseconds, after each decision on one of its requests. */
type Client = (decision: Answered) => number;

/** Waits exactly as long as Retry-After says. */
const obedient = (betweenMs: number): Client => {
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
const backingOff = (betweenMs: number, jitter: () => number): Client => {
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
const steady = (perSecond: number): Client => {
  return () => 1000 / perSecond;
};

interface Observed {
  /** Time since the start of the run. */
  atMs: number;
  outcome: Answered['outcome'];
  /** Length of the ban that the request led to. */
  banMs?: number;
}

interface RunOptions {
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
async function runClients(redis: RedisClient, options: RunOptions): Promise<Observed[]> {
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

const minutes = 60_000;
const fleet = (size: number, create: () => Client) => Array.from({ length: size }, create);
const count = (observed: Observed[], outcome: Observed['outcome']) =>
  observed.filter((request) => request.outcome === outcome).length;

/** A wait to the end of a ban. Times of the simulation are exact to a millisecond; a response takes longer on its way. */
const untilEnd = (remainingMs: number) => remainingMs + 10;

/** The real script and the default policy, in simulated time. */
describe('the ban policy', { tags: ['redis-server'] }, () => {
  const server = shared(startRedisServer);
  const redis = shared(() => connectRedis(server.url));

  describe('never bans', () => {
    test.each<[string, number, () => Client[]]>([
      ['a client that waits for Retry-After', 60, () => [obedient(100)]],
      ['24 jobs of one key that wait for Retry-After', 5, () => fleet(24, () => obedient(100))],
      ...[5, 60].flatMap((limit) =>
        [8, 16].flatMap((size): [string, number, () => Client[]][] => {
          const name = `${size} workers that back off exponentially from 1 s, on a limit of ${limit}`;
          const workers = (random: () => number) => fleet(size, () => backingOff(200, random));
          return [
            [name, limit, () => workers(() => 1)],
            [`${name}, with jitter`, limit, () => workers(seededRandom(size + limit))],
          ];
        }),
      ),
    ])('%s', async (_name, limit, clients) => {
      const observed = await runClients(redis, {
        limits: { minute: limit },
        clients: clients(),
        staggerMs: 700,
        forMs: 10 * minutes,
      });
      expect(count(observed, 'limited')).toBeGreaterThan(0);
      expect(count(observed, 'banned')).toBe(0);
    });

    test('a steady client at 150 % of its limit, which gets all that its plan allows', async () => {
      const observed = await runClients(redis, {
        limits: { minute: 60 },
        clients: [steady(1.5)],
        forMs: 10 * minutes,
      });
      expect(count(observed, 'banned')).toBe(0);
      // A window opens with a request, so ten of them take slightly more than ten minutes.
      expect(count(observed, 'allowed')).toBeGreaterThan(9 * 60);
    });

    test('a burst of 200', async () => {
      const burst: Client = () => 10 * minutes;
      const observed = await runClients(redis, {
        limits: { minute: 60 },
        clients: fleet(200, () => burst),
        forMs: minutes,
      });
      expect(count(observed, 'limited')).toBe(140);
    });
  });

  describe('bans', () => {
    test.each([
      ['free', 15],
      ['pro', 35],
      ['business', 35],
    ])(
      'a client on %s that goes on at 50 requests a second, within %d s of its first 429',
      async (plan, seconds) => {
        const observed = await runClients(redis, {
          limits: { minute: defaultPlans[plan]?.minute ?? 0 },
          clients: [steady(50)],
          forMs: 2 * minutes,
          maxBans: 1,
        });
        const first429 = observed.find(({ outcome }) => outcome === 'limited');
        const ban = observed.find(({ outcome }) => outcome === 'banned');
        expect(ban?.banMs).toBe(60_000);
        expect((ban?.atMs ?? 0) - (first429?.atMs ?? 0)).toBeGreaterThan(10_000);
        expect((ban?.atMs ?? Number.POSITIVE_INFINITY) - (first429?.atMs ?? 0)).toBeLessThan(seconds * 1000);
      },
    );

    /** Uses up its day with one request, and then sends ten requests a second. */
    const insistent = (duringBan: (ban: Ban) => number): RunOptions => ({
      limits: { minute: 1, day: 1 },
      clients: [(decision) => (decision.outcome === 'banned' ? duringBan(decision) : 100)],
      forMs: 300 * minutes,
    });
    const lengthsOf = (observed: Observed[]) =>
      observed.flatMap(({ banMs }) => (banMs === undefined ? [] : [banMs / 1000]));

    test('a client that goes on during each ban, each time twice as long, up to an hour', async () => {
      const goesOn = ({ remainingMs }: Ban) => Math.max(2000, remainingMs / 2);
      const observed = await runClients(redis, { ...insistent(goesOn), maxBans: 8 });
      expect(lengthsOf(observed)).toEqual([60, 120, 240, 480, 960, 1920, 3600, 3600]);
    });

    test('a client that waits during its bans, each time for as long as the first', async () => {
      const waits = ({ remainingMs }: Ban) => untilEnd(remainingMs);
      const observed = await runClients(redis, { ...insistent(waits), maxBans: 3 });
      expect(lengthsOf(observed)).toEqual([60, 60, 60]);
    });

    test('a client that stops within a second of a ban, the next time for as long as the first', async () => {
      const stops = ({ isNew, remainingMs }: Ban) => (isNew ? 900 : untilEnd(remainingMs));
      const observed = await runClients(redis, { ...insistent(stops), maxBans: 2 });
      expect(lengthsOf(observed)).toEqual([60, 60]);
    });

    test('a client for as long as the first time after enough time without a ban', async () => {
      let bans = 0;
      const pausesAfterItsSecondBan = ({ isNew, remainingMs }: Ban) => {
        if (isNew) bans += 1;
        return bans === 2 && remainingMs < 3000 ? 10 * minutes : Math.max(2000, remainingMs / 2);
      };
      const observed = await runClients(redis, {
        ...insistent(pausesAfterItsSecondBan),
        policy: { resetSeconds: 300 },
        maxBans: 3,
      });
      expect(lengthsOf(observed)).toEqual([60, 120, 60]);
    });
  });
});
