import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMetrics, type Metrics } from '../../gateway/observability/metrics.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { maxFields } from '../../gateway/traffic/traffic-fields.ts';
import { createTrafficReports } from '../../gateway/traffic/traffic-reports.ts';
import { recordedTraffic } from '../support/checks/traffic-record.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { monitorRedis } from '../support/stores/redis-monitor.ts';
import { startRedisRelay } from '../support/stores/redis-relay.ts';
import { startAnyRedis, startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';

const minuteMs = 60_000;

/** Reports of a process whose requests the test counts, and its log. */
function startProcess(redis: RedisClient) {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const metrics = createMetrics({ droppedLogLines: () => 0 });
  return { metrics, lines, reports: createTrafficReports({ redis, metrics, log }) };
}

const serve = ({ requests }: Metrics, times = 1, plan = 'free') => {
  for (let index = 0; index < times; index += 1) requests.count('/v1/pets', 'GET', '2xx', plan, 0.004);
};

async function connect(url: string): Promise<RedisClient> {
  const redis = await connectRedis(url);
  onTestFinished(() => redis.disconnect());
  return redis;
}

describe('reports of traffic', () => {
  let server: RedisServer;
  let redis: RedisClient;
  beforeEach(async () => {
    server = await startAnyRedis();
    redis = await connectRedis(server.url);
  });
  afterEach(async () => {
    redis.disconnect();
    await server[Symbol.asyncDispose]();
  });

  test('of several processes add up in the same buckets', async () => {
    const processes = [startProcess(redis), startProcess(redis), startProcess(redis)];
    for (const round of [1, 2]) {
      for (const { metrics, reports } of processes) {
        serve(metrics, 5 * round);
        await reports.count(Date.now());
        expect(await reports.send()).toBe(true);
        expect(await reports.send()).toBe(false);
        expect(reports.pending()).toBe(0);
      }
    }
    expect(await recordedTraffic(redis)).toMatchObject({
      requests: 45,
      byStatus: { '2xx': 45 },
      latencyMs: { served: { p50: 3.75 }, all: { p50: 3.75 } },
    });
  });

  test('are late after an outage, and still in the buckets of their time', async () => {
    const { metrics, reports } = startProcess(redis);
    const nowMs = Math.floor(Date.now() / minuteMs) * minuteMs;
    for (let minute = 20; minute >= 1; minute -= 1) {
      serve(metrics, minute);
      await reports.count(nowMs - minute * minuteMs + 5000);
    }
    while (await reports.send());
    for (let minute = 20; minute >= 1; minute -= 1) {
      const startMs = nowMs - minute * minuteMs;
      const [tenSeconds, wholeMinute] = await Promise.all([
        redis.hgetall(redisKeys.trafficBucket('10s', startMs)),
        redis.hgetall(redisKeys.trafficBucket('1m', startMs)),
      ]);
      expect(tenSeconds).toEqual({ 'r2xx:free': String(minute), 't2xx:5': String(minute) });
      expect(wholeMinute).toEqual(tenSeconds);
    }
  });

  test('drop what is older than an hour, with one line in the log', async () => {
    const { metrics, reports, lines } = startProcess(redis);
    const startMs = Date.now() - 80 * minuteMs;
    for (let minute = 0; minute <= 80; minute += 1) {
      serve(metrics);
      await reports.count(startMs + minute * minuteMs);
    }
    expect(reports.pending()).toBeGreaterThanOrEqual(60);
    expect(reports.pending()).toBeLessThanOrEqual(61);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('the record of traffic lacks the oldest minutes');
  });

  test('replace a value of the wrong type, and a count that is not a number', async () => {
    const { metrics, reports, lines } = startProcess(redis);
    const nowMs = Date.now();
    const start = (stepMs: number) => Math.floor(nowMs / stepMs) * stepMs;
    const wrongType = redisKeys.trafficBucket('10s', start(10_000));
    const wrongCount = redisKeys.trafficBucket('1m', start(minuteMs));
    await redis.set(wrongType, 'edited');
    await redis.hset(wrongCount, { 'r2xx:free': 'many', 'r2xx:pro': '7', 't2xx:5': '9223372036854775807' });
    serve(metrics, 3);
    await reports.count(nowMs);
    expect(await reports.send()).toBe(true);
    expect(await redis.hgetall(wrongType)).toEqual({ 'r2xx:free': '3', 't2xx:5': '3' });
    expect(await redis.hgetall(wrongCount)).toEqual({ 'r2xx:free': '3', 'r2xx:pro': '7', 't2xx:5': '3' });
    expect(lines).toEqual([]);
  });

  test('go on after the number of the last report was edited', async () => {
    const { metrics, reports } = startProcess(redis);
    const report = async () => {
      serve(metrics);
      await reports.count(Date.now());
      expect(await reports.send()).toBe(true);
    };
    await report();
    const [marker = ''] = await redis.keys(redisKeys.trafficReporter('*'));
    await redis.set(marker, 'inf');
    await report();
    expect(await redis.get(marker)).toBe('2');
    await redis.del(marker);
    await redis.hset(marker, 'a', '1');
    await report();
    expect(await redis.get(marker)).toBe('3');
    expect((await recordedTraffic(redis)).requests).toBe(3);
  });

  test('of more plans than a bucket has fields for count the further plans together', async () => {
    const processes = [startProcess(redis), startProcess(redis)];
    const plans = maxFields - 100;
    for (const [index, { metrics, reports }] of processes.entries()) {
      for (let plan = 0; plan < plans; plan += 1) serve(metrics, 1, `plan-${index}-${plan}`);
      await reports.count(Date.now());
      expect(await reports.send()).toBe(true);
    }
    const { requests, byPlan } = await recordedTraffic(redis);
    expect(requests).toBe(2 * plans);
    expect(byPlan['(other)']?.requests).toBeGreaterThanOrEqual(2 * plans - maxFields);
    const sizes = (await redis.keys('gw:{traffic}:1*')).map((key) => redis.hlen(key));
    expect(Math.max(...(await Promise.all(sizes)))).toBeLessThanOrEqual(maxFields + 2);
  });
});

describe('reports of traffic on a failing connection', { tags: ['redis-server'] }, () => {
  test('are sent again if their reply was lost, and not added twice', async () => {
    await using server = await startRedisServer();
    await using relay = await startRedisRelay(server.port);
    const redis = await connect(relay.url);
    const { metrics, reports } = startProcess(redis);
    const report = async () => {
      serve(metrics, 5);
      await reports.count(Date.now());
      return reports.send();
    };
    // From now on Redis knows the script.
    expect(await report()).toBe(true);
    const monitor = await monitorRedis(server.port);
    onTestFinished(() => monitor.close());
    relay.loseReplyTo('gw:{traffic}:reporter:');
    expect(await report()).toBe(false);
    expect(reports.pending()).toBe(5);
    // What comes meanwhile is not added to the report that may have been executed.
    serve(metrics, 7);
    await reports.count(Date.now());
    await expect.poll(() => reports.send()).toBe(true);
    const executed = () =>
      monitor.commands
        .filter(({ args, source }) => source !== 'lua' && args[3]?.startsWith('gw:{traffic}:reporter:'))
        .map(({ args }) => args.join(' '));
    // A reply may arrive before the monitor's line.
    await expect.poll(executed).toHaveLength(2);
    expect(new Set(executed()).size).toBe(1);
    expect((await recordedTraffic(redis)).requests).toBe(10);
    expect(reports.pending()).toBe(7);
    expect(await reports.send()).toBe(true);
    expect((await recordedTraffic(redis)).requests).toBe(17);
  });

  test('that Redis refuses are kept', async () => {
    await using server = await startRedisServer();
    const redis = await connect(server.url);
    const { metrics, reports } = startProcess(redis);
    await server.redis.acl('SETUSER', 'default', '-eval', '-evalsha');
    for (const round of [1, 2, 3]) {
      serve(metrics);
      await reports.count(Date.now());
      expect(await reports.send()).toBe(false);
      expect(reports.pending()).toBe(round);
    }
    await server.redis.acl('SETUSER', 'default', '+eval', '+evalsha');
    while (await reports.send());
    expect((await recordedTraffic(redis)).requests).toBe(3);
  });
});
