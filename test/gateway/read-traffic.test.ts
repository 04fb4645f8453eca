import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMetrics } from '../../gateway/observability/metrics.ts';
import { InvalidOperation } from '../../gateway/operations/invalid-operation.ts';
import { readOnlyAudit } from '../../gateway/operations/session.ts';
import { readTraffic, type TrafficRange } from '../../gateway/operations/traffic.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { createTrafficReports } from '../../gateway/traffic/traffic-reports.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { startAnyRedis, type RedisServer } from '../support/stores/redis-server.ts';

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

describe('reading the record of traffic', () => {
  let server: RedisServer;
  let redis: RedisClient;
  /** A whole hour, within the last one. */
  const hour = Math.floor(Date.now() / hourMs) * hourMs;
  let nowMs = hour + 10 * minuteMs + 17_000;

  /** Adds requests that took 4 ms, as a gateway does. */
  async function serve(atMs: number, plan: string, times: number): Promise<void> {
    const metrics = createMetrics({ droppedLogLines: () => 0 });
    const reports = createTrafficReports({ redis, metrics, log: pino({ level: 'silent' }) });
    for (let index = 0; index < times; index += 1)
      metrics.requests.count('/v1/pets', 'GET', '2xx', plan, 0.004);
    await reports.count(atMs);
    await reports.send();
  }

  beforeAll(async () => {
    server = await startAnyRedis();
    redis = await connectRedis(server.url);
    await serve(hour + 5000, 'free', 10);
    await serve(hour + 25_000, 'free', 2);
    await serve(hour + 61_000, 'pro', 30);
    await serve(hour + 10 * minuteMs + 1000, 'free', 4);
    await serve(hour - 3 * dayMs, 'free', 7);
  });
  afterAll(async () => {
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  const session = () => ({ redis, audit: readOnlyAudit, now: () => nowMs });
  const read = (range: Partial<TrafficRange>) =>
    readTraffic(session(), { fromMs: hour, toMs: nowMs, stepMs: minuteMs, ...range });
  const requestsOf = async (range: Partial<TrafficRange>) =>
    (await read(range)).points.map(({ requests }) => requests);

  test('has a point for each step, with zeros for gaps', async () => {
    expect(await requestsOf({})).toEqual([12, 30, 0, 0, 0, 0, 0, 0, 0, 0, 4]);
    expect(await requestsOf({ fromMs: hour, toMs: hour + minuteMs, stepMs: 10_000 })).toEqual([
      10, 0, 2, 0, 0, 0,
    ]);
    expect(await requestsOf({ stepMs: 5 * minuteMs })).toEqual([42, 0, 4]);
    const { points } = await read({ stepMs: 5 * minuteMs });
    expect(points[0]).toEqual({
      at: new Date(hour).toISOString(),
      seconds: 300,
      requests: 42,
      byStatus: { '2xx': 42 },
      byPlan: {
        free: expect.objectContaining({ requests: 12, byStatus: { '2xx': 12 } }) as unknown,
        pro: expect.objectContaining({ requests: 30 }) as unknown,
      },
      refusals: { minute: 0, day: 0 },
      bans: 0,
      bannedRequests: 0,
      localDecisions: 0,
      latencyMs: {
        served: { p50: 3.75, p90: 4.75, p99: 4.975 },
        all: { p50: 3.75, p90: 4.75, p99: 4.975 },
      },
    });
    expect(points[1]).toMatchObject({ requests: 0, byPlan: {}, latencyMs: { served: null, all: null } });
  });

  test('begins at a multiple of the step, and ends where all gateways have reported', async () => {
    const { points, total } = await read({ fromMs: hour + 42_000 });
    expect(points[0]).toMatchObject({ at: new Date(hour).toISOString(), seconds: 60 });
    // 17 s into the minute; the reports of the first 15 s have come.
    expect(points.at(-1)).toMatchObject({ seconds: 15, requests: 4 });
    expect(total).toMatchObject({ requests: 46, seconds: 615 });
  });

  test('has 7 days in at most 500 points', async () => {
    const { points, total } = await read({ fromMs: nowMs - 7 * dayMs, stepMs: 30 * minuteMs });
    expect(points.length).toBeLessThanOrEqual(500);
    expect(total.requests).toBe(53);
    expect(points.filter(({ requests }) => requests > 0).map(({ requests }) => requests)).toEqual([7, 46]);
  });

  test('begins no earlier than the record does', async () => {
    const { points } = await read({ fromMs: nowMs - 7 * dayMs, stepMs: dayMs });
    expect(Date.parse(points[0]?.at ?? '')).toBeGreaterThan(nowMs - 7 * dayMs);
    expect(points).toHaveLength(7);
  });

  test('of one plan has its counts, and no latency', async () => {
    const { points, total, plans } = await read({ plan: 'pro' });
    expect(points.map(({ requests }) => requests)).toEqual([0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(total).toMatchObject({ requests: 30, latencyMs: { served: null, all: null } });
    expect(plans).toEqual(['free', 'pro']);
    expect(await requestsOf({ plan: 'enterprise' })).toEqual(Array(11).fill(0));
  });

  test.each([
    { name: 'a step of 7 s', range: { stepMs: 7000 }, message: 'the step of 7 s must divide a day' },
    { name: 'a step of 0', range: { stepMs: 0 }, message: 'the step of 0 s must divide a day' },
    { name: 'a step of 7 minutes', range: { stepMs: 7 * minuteMs }, message: 'must divide a day' },
    {
      name: 'a step of 10 s for 2 hours',
      range: { fromMs: hour - 2 * hourMs, stepMs: 10_000 },
      message: 'reach back an hour',
    },
    { name: '8 days', range: { fromMs: hour - 8 * dayMs }, message: 'reaches back 7 days' },
    { name: 'an end before the beginning', range: { toMs: hour - 1 }, message: 'must end after it begins' },
    { name: 'a mistyped plan', range: { plan: 'fre' }, message: 'no plan named "fre"; did you mean "free"?' },
    {
      name: 'an unknown plan',
      range: { plan: 'platinum' },
      message: 'no plan named "platinum"; the plans are none, free, pro, business, enterprise',
    },
    { name: 'the plan of no key', range: { plan: 'anonymous' }, message: 'their traffic is that of "none"' },
  ])('refuses $name', async ({ range, message }) => {
    await expect(read(range)).rejects.toThrow(InvalidOperation);
    await expect(read(range)).rejects.toThrow(message);
  });

  test('names values that were edited by hand, and shows the others', async () => {
    nowMs = hour + 20 * minuteMs;
    const wrongType = redisKeys.trafficBucket('1m', hour + 15 * minuteMs);
    const wrongFields = redisKeys.trafficBucket('1m', hour + 16 * minuteMs);
    await redis.set(wrongType, 'edited');
    await redis.hset(wrongFields, { 'r2xx:free': 'many', note: '7', 'r2xx:pro': '5' });
    const { points, total, issues } = await read({});
    expect(total.requests).toBe(51);
    expect(points[16]?.byPlan).toMatchObject({ pro: { requests: 5 } });
    expect(issues).toEqual([
      { key: wrongType, issue: 'is not a hash, and its traffic is lost: DEL it' },
      { key: wrongFields, issue: 'field r2xx:free is not a count' },
      { key: wrongFields, issue: 'field note is not a count' },
    ]);
    await redis.del(wrongType, wrongFields);
  });
});
