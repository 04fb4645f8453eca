import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBanCache } from '../../../../gateway/quota/bans.ts';
import type { QuotaDecision } from '../../../../gateway/quota/quota-decision.ts';
import { stepOf } from '../../../support/checks/steps.ts';

const step = fc.oneof(
  stepOf(5, 'request'),
  stepOf(4, 'receive a reply'),
  stepOf(2, 'wait', { ms: fc.constantFrom(300, 1000, 4000) }),
  stepOf(2, 'ban', { ms: fc.integer({ min: 3000, max: 30_000 }) }),
  stepOf(1, 'lift the ban'),
);

const used = { limit: 1, remaining: 0, resetMs: 1 };

/** Decides like Redis, whose replies arrive in the order that the scheduler picks. */
function createRedis(scheduler: fc.Scheduler, now: () => number) {
  const decisions = new Set<QuotaDecision>();
  const asking = { now: 0, most: 0 };
  let banEndsAtMs = 0;
  let isNew = false;
  return {
    decisions,
    asking,
    isBanned: () => now() < banEndsAtMs,
    ban(ms: number) {
      banEndsAtMs = now() + ms;
      isNew = true;
    },
    async decide(): Promise<QuotaDecision> {
      const remainingMs = banEndsAtMs - now();
      const decision: QuotaDecision =
        remainingMs > 0
          ? { outcome: 'banned', limits: { minute: 1, day: 1 }, nowMs: now(), remainingMs, isNew }
          : { outcome: 'allowed', windows: { minute: used, day: used }, nowMs: now() };
      isNew = false;
      decisions.add(decision);
      asking.now += 1;
      await scheduler.schedule(Promise.resolve(), decision.outcome);
      asking.now -= 1;
      return decision;
    },
  };
}

test('whatever the order of requests and replies, each allowed request was counted, and each ban is new once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 40 }), async (scheduler, steps) => {
      let nowMs = 1_000_000;
      const redis = createRedis(scheduler, () => nowMs);
      const bans = createBanCache({ now: () => nowMs });
      const replies: Promise<QuotaDecision>[] = [];
      for (const step of steps) {
        if (step.does === 'request') replies.push(bans.getOrDecide('a', undefined, redis.decide));
        else if (step.does === 'receive a reply') {
          if (scheduler.count() > 0) await scheduler.waitNext(1);
        } else if (step.does === 'wait') nowMs += step.ms;
        else redis.ban(step.does === 'ban' ? step.ms : 0);
      }
      await scheduler.waitIdle();
      const decisions = await Promise.all(replies);
      const allowed = decisions.filter(({ outcome }) => outcome === 'allowed');
      // Each is one of Redis' own, so no two requests share one.
      expect(new Set(allowed).size).toBe(allowed.length);
      for (const decision of allowed) expect(redis.decisions).toContain(decision);
      const countNew = (of: Iterable<QuotaDecision>) =>
        [...of].filter((decision) => decision.outcome === 'banned' && decision.isNew).length;
      expect(countNew(decisions)).toBe(countNew(redis.decisions));
      expect(decisions.every((decision) => decision.outcome !== 'banned' || decision.remainingMs > 0)).toBe(
        true,
      );
    }),
    { numRuns: 100 },
  );
});

test('of any number of requests during a ban, one at a time asks Redis', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(
        fc.record({ requests: fc.nat({ max: 5 }), ms: fc.constantFrom(0, 10, 60, 500, 999, 1000, 1500) }),
        { maxLength: 20 },
      ),
      async (scheduler, rounds) => {
        let nowMs = 1_000_000;
        const redis = createRedis(scheduler, () => nowMs);
        const bans = createBanCache({ now: () => nowMs });
        redis.ban(3_600_000);
        const observed: unknown[] = [];
        const request = () => bans.getOrDecide('a', undefined, redis.decide, (ban) => observed.push(ban));
        await Promise.all([request(), scheduler.waitIdle()]);
        let most = 0;
        const replies: Promise<QuotaDecision>[] = [];
        for (const { requests, ms } of rounds) {
          // No reply takes longer: the gate shuts after 100 ms.
          if (ms > 60) await scheduler.waitIdle();
          nowMs += ms;
          for (let sent = 0; sent < requests; sent += 1) replies.push(request());
          most = Math.max(most, redis.asking.now);
          if (scheduler.count() > 0 && ms === 0) await scheduler.waitNext(1);
        }
        await scheduler.waitIdle();
        expect(most).toBeLessThanOrEqual(1);
        expect((await Promise.all(replies)).every(({ outcome }) => outcome === 'banned')).toBe(true);
        expect(observed).toHaveLength(1);
        // One a second at most.
        const seconds = (nowMs - 1_000_000) / 1000;
        expect(redis.decisions.size).toBeLessThanOrEqual(2 + seconds);
      },
    ),
    { numRuns: 50 },
  );
});
