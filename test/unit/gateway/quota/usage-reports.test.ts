import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { RedisClient } from '../../../../gateway/platform/redis/redis-client.ts';
import { createUsageReports } from '../../../../gateway/quota/usage-reports.ts';

const customer = (number: number) => `cus_${number}` as const;

/** @param addUsage in place of add-usage-2.lua */
function createReports(addUsage: (...args: (string | number)[]) => Promise<number>) {
  const lines: string[] = [];
  const reports = createUsageReports({
    redis: { addUsage } as unknown as RedisClient,
    usagePolicy: { current: () => ({ retentionDays: 400 }) },
    log: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }),
    now: () => 1_795_000_000_000,
  });
  return { reports, lines };
}

const served = (reports: ReturnType<typeof createReports>['reports']) => {
  const decision = { outcome: 'allowed', isLocal: true, nowMs: 0 } as const;
  for (const units of [1, 5]) reports.count({ customerId: customer(1) }, decision, units);
};

test('a report that Redis refuses is given up, with a line in the log that names the key', async () => {
  const { reports, lines } = createReports(() =>
    Promise.reject(Object.assign(new Error('WRONGTYPE Operation against a key'), { name: 'ReplyError' })),
  );
  served(reports);
  await reports.report();
  expect(reports.pending()).toBe(0);
  expect(lines).toEqual([expect.stringContaining('"key":"gw:usage:{cus_1}:202611","requests":2')]);
});

test('what is not in Redis when the process ends is in its log', async () => {
  const { reports, lines } = createReports(() => Promise.reject(new Error('Connection is closed.')));
  served(reports);
  await expect(reports.report()).rejects.toThrow('Connection is closed.');
  expect(reports.pending()).toBe(2);
  reports.logPending();
  expect(lines).toEqual([expect.stringContaining('"customerId":"cus_1","day":"20261118","requests":2,')]);
});
