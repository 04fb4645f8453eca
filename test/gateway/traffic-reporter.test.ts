import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { readTraffic } from '../../gateway/control/usage/traffic.ts';
import { createMetrics, type Metrics } from '../../gateway/platform/observability/metrics.ts';
import { createTrafficReporter } from '../../gateway/quota/traffic.ts';
import { recordedCounts } from '../support/checks/traffic-record.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { fresh } from '../support/kits/shared.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

const minuteMs = 60_000;

const serve = ({ requests }: Metrics, times: number, plan = 'free') => {
  for (let index = 0; index < times; index += 1) requests.count('/v1/pets', 'GET', '2xx', plan, 0.004);
};

describe('reports of traffic', () => {
  const server = fresh(startAnyRedis);
  const redis = fresh(
    () => connectRedis(server.url),
    (redis) => redis.disconnect(),
  );

  /** Counts of a process, which reports when it closes, and its log. */
  function startProcess(now = () => Date.now(), isOpen = () => true) {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const metrics = createMetrics();
    return { metrics, lines, reporter: createTrafficReporter({ redis, isOpen, now, metrics, log }) };
  }

  test('of a minute are there a moment after its end, and expire after a day', async () => {
    const minute = Math.floor(Date.now() / minuteMs) - 3;
    const { metrics, reporter } = startProcess(() => minute * minuteMs + 59_000);
    serve(metrics, 2);
    await reporter.close();
    const at = (ms: number) => readTraffic({ redis, now: () => (minute + 1) * minuteMs + ms });
    expect((await at(5000)).at(-1)?.byStatus).toEqual({});
    expect((await at(7000)).at(-1)?.byStatus).toEqual({ '2xx': 2 });
    const [key = ''] = await redis.keys('gw:{traffic}:*');
    expect(await redis.ttl(key)).toBeGreaterThan(24 * 3600);
    expect(await redis.ttl(key)).toBeLessThanOrEqual(25 * 3600);
  });

  test('wait while Redis is unavailable, and come in the minute of their time', async () => {
    let [isOpen, nowMs] = [false, Date.now() - 10 * minuteMs];
    const { metrics, reporter } = startProcess(
      () => nowMs,
      () => isOpen,
    );
    serve(metrics, 4);
    await reporter.close();
    expect(await recordedCounts(redis)).toEqual({});
    [isOpen, nowMs] = [true, Date.now()];
    serve(metrics, 3);
    await reporter.close();
    const points = await readTraffic({ redis, now: () => Date.now() + minuteMs + 7000 });
    expect(points.flatMap(({ byStatus }) => byStatus['2xx'] ?? [])).toEqual([4, 3]);
  });
});
