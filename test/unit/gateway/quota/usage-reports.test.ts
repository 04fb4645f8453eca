import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createUsageReports } from '../../../../gateway/quota/usage-reports.ts';
import type { RedisClient } from '../../../../gateway/redis/redis-client.ts';
import { replyError } from '../../../../gateway/redis/redis-errors.ts';

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

describe('a counter that was edited by hand', () => {
  test.each([
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'ERR value is not an integer or out of range',
    'ERR increment or decrement would overflow',
  ])('is given up, with a line in the log: %s', async (message) => {
    const { reports, lines } = createReports(() => Promise.reject(replyError(message)));
    reports.addServed(customer(1));
    await reports.report();
    expect(reports.pending()).toBe(0);
    expect(lines).toHaveLength(1);
  });
});

test('requests that were taken back leave room for the refusals of other keys', async () => {
  const sent: (string | number)[][] = [];
  const { reports } = createReports((...args) => Promise.resolve(sent.push(args)));
  for (let key = 0; key < 50_000; key += 1) {
    reports.addServed(customer(key));
    reports.takeBackServed(customer(key), 1_795_000_000_000);
  }
  await reports.report();
  expect(sent).toEqual([]);
  reports.addRefused(customer(50_000), 'minute', 1_795_000_000_000);
  await reports.report();
  expect(sent).toHaveLength(1);
});
