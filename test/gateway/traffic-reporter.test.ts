import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { readTraffic } from '../../gateway/control/usage/traffic.ts';
import { createMetrics, type Metrics } from '../../gateway/platform/observability/metrics.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { createTrafficReporter } from '../../gateway/quota/traffic.ts';
import { recordedCounts } from '../support/checks/traffic-record.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { fresh } from '../support/kits/shared.ts';

const minuteMs = 60_000;

const serve = ({ requests }: Metrics, times: number, plan = 'free') => {
  for (let index = 0; index < times; index += 1) requests.count('/v1/pets', 'GET', '2xx', plan, 0.004);
};

describe('reports of traffic', () => {
  const redis = fresh(startRedisClient);

  /** Counts of a process, its reports and its log. */
  function startProcess(now = () => Date.now(), gate = { open: true }) {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const metrics = createMetrics();
    return { metrics, lines, reporter: createTrafficReporter({ redis, gate, now, metrics, log }) };
  }

  test('of a minute are there a moment after its end, and expire after a day', async () => {
    const minute = Math.floor(Date.now() / minuteMs) - 3;
    const { metrics, reporter } = startProcess(() => minute * minuteMs + 59_000);
    serve(metrics, 2);
    await reporter.report();
    const at = (ms: number) => readTraffic({ redis, now: () => (minute + 1) * minuteMs + ms });
    expect((await at(5000)).at(-1)?.byStatus).toEqual({});
    expect((await at(7000)).at(-1)?.byStatus).toEqual({ '2xx': 2 });
    const [key = ''] = await redis.keys('gw:{traffic}:*');
    expect(await redis.ttl(key)).toBeGreaterThan(24 * 3600);
    expect(await redis.ttl(key)).toBeLessThanOrEqual(25 * 3600);
  });

  test('of the last 24 hours are read with both ends of each quiet time', async () => {
    const minute = Math.floor(Date.now() / minuteMs) - 90;
    const reported = { 'status:2xx': 60, 'status:5xx': 1, 'refused:free': 2, 'ms:5': 60 };
    await redis.hset(redisKeys.traffic(minute), reported);
    const points = await readTraffic({ redis, now: Date.now });
    const times = points.map(({ at }) => Date.parse(at));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe((24 * 60 - 1) * minuteMs);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(times).toEqual(expect.arrayContaining([-1, 0, 1].map((next) => (minute + next) * minuteMs)));
    expect(points.length).toBeLessThan(100);
    expect(points[times.indexOf(minute * minuteMs)]).toEqual({
      at: new Date(minute * minuteMs).toISOString(),
      byStatus: { '2xx': 60, '5xx': 1 },
      refused: 2,
      latencyMs: { p50: 3.75, p99: 4.975 },
    });
    expect(points[times.indexOf((minute + 1) * minuteMs)]).toMatchObject({ byStatus: {}, latencyMs: null });
  });

  test('wait while Redis is unavailable, and come in the minute of their time', async () => {
    let nowMs = Date.now() - 10 * minuteMs;
    const gate = { open: false };
    const { metrics, reporter } = startProcess(() => nowMs, gate);
    serve(metrics, 4);
    await reporter.report();
    expect(await recordedCounts(redis)).toEqual({});
    gate.open = true;
    nowMs = Date.now();
    serve(metrics, 3);
    await reporter.report();
    const points = await readTraffic({ redis, now: () => Date.now() + minuteMs + 7000 });
    expect(points.flatMap(({ byStatus }) => byStatus['2xx'] ?? [])).toEqual([4, 3]);
  });
});
