import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseMemory } from '../../gateway/platform/redis/redis-memory.ts';
import { alertsText } from '../support/checks/observability-files.ts';
import { shortenRules } from '../support/checks/shortened-rules.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { startPrometheus, type Prometheus } from '../support/kits/prometheus.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { startLoad } from '../support/load/steady-load.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

/** Windows and `for` of the shipped rules are divided by this: 15 minutes take three seconds. */
const factor = 300;
const quarterMs = 15 * 60_000;
/** Longer ones are shortened more, in the same order: six hours take nine seconds, three days 20. */
const shorten = (ms: number) =>
  ms <= quarterMs ? ms / factor : (quarterMs / factor) * Math.cbrt(ms / quarterMs);
/** Above the longest time that an alert may take to stop. */
const timeout = 240_000;

describe(
  'an alert fires when its cause is made, and stops when it is mended',
  { tags: ['prometheus', 'redis-server'], timeout: 3 * timeout },
  () => {
    const stack = new AsyncDisposableStack();
    let server: RedisServer;
    let upstream: Upstream;
    let gateway: Service;
    /** Another one, in a job with the first. */
    let second: Service;
    let prometheus: Prometheus;

    beforeAll(async () => {
      server = stack.use(await startRedisServer());
      upstream = await startUpstream();
      stack.defer(() => upstream[Symbol.asyncDispose]());
      gateway = stack.use(
        await startGateway({
          REDIS_URL: server.url,
          PETS_SERVICE_URL: upstream.url,
          LOG_LEVEL: 'info',
        }),
      );
      second = stack.use(await startGateway({ REDIS_URL: server.url, PETS_SERVICE_URL: upstream.url }));
      const redis = await connectRedis(server.url);
      stack.defer(() => redis.disconnect());
      const { key } = await keyIssuer(redis).issue({ plan: 'enterprise', minute: 1_000_000, day: 1_000_000 });
      stack.use(startLoad(2, () => send(`${gateway.url}/v1/pets`, { key }).catch(() => undefined), 50));
      const { rules: shortened, shortened: count } = shortenRules(alertsText, shorten);
      expect(count).toBe(alertsText.match(/\[\d+[smhd]\]|\bfor: \d/g)?.length);
      // The shortest window, of 5 minutes, takes a second: it needs several samples, also on a busy machine.
      prometheus = stack.use(
        await startPrometheus({
          jobs: { gateway: gateway.adminUrl, both: [gateway.adminUrl, second.adminUrl] },
          rules: shortened,
          intervalMs: 250,
        }),
      );
    });

    afterAll(() => stack.disposeAsync());

    /** Labels of an alert that fires. */
    async function firing(alert: string): Promise<Record<string, string>[]> {
      const alerts = await prometheus.alerts();
      return alerts.flatMap(({ labels, state }) =>
        labels['alertname'] === alert && state === 'firing' ? [labels] : [],
      );
    }

    async function waitUntilFires(alert: string, labels: Record<string, string> = {}): Promise<void> {
      await expect
        .poll(() => firing(alert), { timeout, interval: 200 })
        .toContainEqual(expect.objectContaining(labels));
    }

    async function waitUntilStops(alert: string): Promise<void> {
      await expect.poll(() => firing(alert), { timeout, interval: 200 }).toEqual([]);
    }

    test('none fires while all is well', async () => {
      const rate = 'sum(rate(gateway_requests_total{status="2xx"}[3s]))';
      await expect
        .poll(async () => Number((await prometheus.query(rate))[0]?.value[1] ?? 0))
        .toBeGreaterThan(1);
      // At its very start, Prometheus has no metrics of the gateway yet.
      const anyFiring = async () =>
        (await prometheus.alerts()).flatMap(({ labels, state }) => (state === 'firing' ? [labels] : []));
      await expect.poll(anyFiring).toEqual([]);
    });

    interface Trouble {
      alert: string;
      labels?: Record<string, string>;
      make: () => unknown;
      mend: () => unknown;
    }

    /** Of each kind of cause one: gateway/alert-rules has the rules of all alerts. */
    const troubles: Trouble[] = [
      {
        alert: 'GatewayRedisNearlyFull',
        async make() {
          const memory = parseMemory(await server.redis.info('memory'));
          return server.redis.config('SET', 'maxmemory', Math.ceil((memory?.usedBytes ?? 0) / 0.95));
        },
        mend: () => server.redis.config('SET', 'maxmemory', 0),
      },
      { alert: 'GatewayWithoutRedis', make: () => server.kill(), mend: () => server.restart() },
      {
        alert: 'GatewayNoUpstreamReady',
        make: () => upstream[Symbol.asyncDispose](),
        async mend() {
          upstream = await startUpstream(Number(new URL(upstream.url).port));
        },
      },
      {
        alert: 'GatewayDown',
        labels: { job: 'both' },
        make: () => second.signal('SIGSTOP'),
        mend: () => second.signal('SIGCONT'),
      },
    ];

    async function show({ alert, labels, make, mend }: Trouble): Promise<void> {
      await make();
      await waitUntilFires(alert, labels);
      await mend();
      await waitUntilStops(alert);
    }

    test.each(troubles)('$alert', show);
  },
);
