import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { dayMs } from '../../../../gateway/limits/windows.ts';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { createUsageReports } from '../../../../gateway/quota/usage-reports.ts';
import { stepOf } from '../../../support/checks/steps.ts';

const customer = fc.constantFrom('cus_a' as const, 'cus_b' as const);
const daysAgo = fc.constantFrom(0, 0, 1);

const step = fc.oneof(
  stepOf(6, 'serve', { customer }),
  stepOf(3, 'refuse', { customer, daysAgo }),
  stepOf(4, 'report'),
  stepOf(5, 'receive a reply'),
  stepOf(2, 'lose the connection'),
  stepOf(1, 'midnight'),
);

/** Adds reports once each, as add-usage-2.lua does. A connection may be lost before or after that. */
function createRedis(scheduler: fc.Scheduler) {
  const marks = new Map<string, number>();
  const counted = { served: 0, refused: 0 };
  let connection = 0;
  return {
    counted,
    loseConnection() {
      connection += 1;
    },
    async addUsage(mark: string, _prefix: string, ...args: (string | number)[]): Promise<number> {
      const [number = 0, , served = 0, refused = 0] = args;
      const ownConnection = connection;
      await scheduler.schedule(Promise.resolve(), 'the command');
      if (ownConnection !== connection) throw new Error('Connection is closed.');
      const isNew = (marks.get(mark) ?? 0) < Number(number);
      if (isNew) {
        marks.set(mark, Number(number));
        counted.served += Number(served);
        counted.refused += Number(refused);
      }
      await scheduler.schedule(Promise.resolve(), 'the reply');
      if (ownConnection !== connection) throw new Error('Connection is closed.');
      return isNew ? 1 : 0;
    },
  };
}

test('whatever the order of counting, reports, replies and lost connections, each request is added once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 50 }), async (scheduler, steps) => {
      const redis = createRedis(scheduler);
      let nowMs = 20_000 * dayMs + 1000;
      const reports = createUsageReports({
        redis: redis as unknown as RedisClient,
        usagePolicy: { current: () => ({ retentionDays: 400 }) },
        log: pino({ level: 'silent' }),
        now: () => nowMs,
      });
      const sum = { served: 0, refused: 0 };
      const calls: Promise<unknown>[] = [];
      for (const step of steps) {
        switch (step.does) {
          case 'serve':
            reports.count({ customerId: step.customer }, { outcome: 'allowed', isLocal: true, nowMs }, 1);
            sum.served += 1;
            break;
          case 'refuse':
            reports.count(
              { customerId: step.customer },
              { outcome: 'limited', nowMs: nowMs - step.daysAgo * dayMs },
              1,
            );
            sum.refused += 1;
            break;
          case 'report':
            calls.push(reports.report().catch(() => {}));
            break;
          case 'receive a reply':
            if (scheduler.count() > 0) await scheduler.waitNext(1);
            break;
          case 'lose the connection':
            redis.loseConnection();
            break;
          case 'midnight':
            nowMs += dayMs;
        }
      }
      await scheduler.waitIdle();
      await Promise.all(calls);
      for (let round = 0; round < steps.length + 1; round += 1) {
        const report = reports.report();
        await scheduler.waitIdle();
        await report;
      }
      expect(redis.counted).toEqual(sum);
      expect(reports.pending()).toBe(0);
    }),
    { numRuns: 100 },
  );
});
