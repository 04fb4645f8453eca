import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { alertsFile, rules } from '../support/checks/observability-files.ts';
import { runPromtool } from '../support/kits/prometheus.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** Input of a rule by the name of the series, and when the alerts are looked at. */
interface Situation {
  name: string;
  series: Record<string, string>;
  /** Minutes after the first sample. */
  at: number;
  /** Labels and description of the alert; undefined if it must not fire. */
  fires?: { labels: Record<string, string>; description: string };
}

interface AlertTest {
  alert: string;
  /** Of the rule, if the alert has two. */
  severity?: 'warning';
  /** Minutes between two samples, and two evaluations. */
  step?: number;
  situations: Situation[];
}

type Segment = [perMinute: number, minutes: number];

const job = { job: 'gateway' };
const instance = { ...job, instance: 'gw-1:9090' };
const source = 'job="gateway",instance="gw-1:9090"';

/** A counter in promtool's notation. */
function counter(segments: readonly Segment[], step = 1): string {
  let total = 0;
  const parts = ['0'];
  for (const [perMinute, minutes] of segments) {
    const perStep = perMinute * step;
    parts.push(`${total + perStep}+${perStep}x${minutes / step - 1}`);
    total += perMinute * minutes;
  }
  return parts.join(' ');
}

const gauge = (value: number, minutes = 30) => `${value}+0x${minutes}`;

/** Requests of which a share of so many in ten thousand fails; refused ones must not hide that. */
function failures(segments: readonly Segment[], step = 1): Record<string, string> {
  const requests = (status: string) => `gateway_requests_total{${source},status="${status}"}`;
  const minutes = segments.reduce((sum, [, length]) => sum + length, 0);
  return {
    [requests('2xx')]: counter(
      segments.map(([failed, length]) => [10_000 - failed, length]),
      step,
    ),
    [requests('5xx')]: counter(segments, step),
    [requests('cut_off')]: counter([[0, minutes]], step),
    [requests('4xx')]: counter([[90_000, minutes]], step),
  };
}

/** The same for slow requests. */
function slowness(segments: readonly Segment[], step = 1): Record<string, string> {
  const name = 'gateway_request_duration_seconds';
  const minutes = segments.reduce((sum, [, length]) => sum + length, 0);
  return {
    [`${name}_bucket{${source},status="2xx",le="0.25"}`]: counter(
      segments.map(([slow, length]) => [10_000 - slow, length]),
      step,
    ),
    [`${name}_count{${source},status="2xx"}`]: counter([[10_000, minutes]], step),
    [`${name}_bucket{${source},status="4xx",le="0.25"}`]: counter([[90_000, minutes]], step),
    [`${name}_count{${source},status="4xx"}`]: counter([[90_000, minutes]], step),
  };
}

/** What each of two gateways says of the webhooks of both. */
const disabledWebhooks = (counts: readonly [number, number]): Record<string, string> =>
  Object.fromEntries(
    counts.map((count, index) => [
      `gateway_webhooks_disabled{job="gateway",instance="gw-${index + 1}:9090"}`,
      gauge(count),
    ]),
  );

/** Requests a minute without a valid key, those over the limit of their address, and refused requests of keys. */
function flood(unauthenticated: number, limited: number, ofKeys = 0): Record<string, string> {
  const refusals = (plan: string) => `gateway_quota_refusals_total{${source},plan="${plan}",window="minute"}`;
  return {
    [`gateway_unauthenticated_requests_total{${source},plan="anonymous"}`]: counter([[unauthenticated, 30]]),
    [refusals('anonymous')]: counter([[limited, 30]]),
    [refusals('pro')]: counter([[ofKeys, 30]]),
  };
}

const failing = (share: string) =>
  `${share} of the requests to gateway end with 5xx or are cut off; the objective is 0.1 %.`;
const slow = (share: string) =>
  `${share} of the successful requests to gateway take longer than 0.25 s; the objective is 1 %.`;

const memory = (usedBytes: number) => ({
  [`gateway_redis_memory_used_bytes{${source}}`]: gauge(usedBytes),
  [`gateway_redis_memory_limit_bytes{${source}}`]: gauge(1000),
});

const refused = (perMinute: number) => ({
  [`gateway_refused_connections_total{${source},limit="total"}`]: counter([[perMinute, 30]]),
});

const alertTests: AlertTest[] = [
  {
    alert: 'GatewayErrorBudgetBurn',
    situations: [
      {
        name: '2 % of the budget of a month in an hour',
        series: failures([
          [0, 360],
          [930, 10],
        ]),
        at: 370,
        fires: { labels: job, description: failing('1.55%') },
      },
      {
        name: 'a little less in that hour',
        series: failures([
          [0, 360],
          [850, 10],
        ]),
        at: 370,
      },
      {
        name: 'the same hour, but the cause is mended',
        series: failures([
          [0, 360],
          [1200, 10],
          [0, 6],
        ]),
        at: 376,
      },
      {
        name: '5 % of the budget in six hours',
        series: failures([[61, 370]]),
        at: 370,
        fires: { labels: job, description: failing('0.61%') },
      },
      { name: 'a little less in six hours', series: failures([[59, 370]]), at: 370 },
    ],
  },
  {
    alert: 'GatewayErrorBudgetBurn',
    severity: 'warning',
    step: 30,
    situations: [
      {
        name: '10 % of the budget in three days',
        series: failures([[11, 4350]], 30),
        at: 4350,
        fires: { labels: job, description: failing('0.11%') },
      },
      { name: 'a little less in three days', series: failures([[9, 4350]], 30), at: 4350 },
      {
        name: '10 % of the budget in a day',
        series: failures(
          [
            [0, 4320],
            [365, 120],
          ],
          30,
        ),
        at: 4440,
        fires: { labels: job, description: failing('0.3042%') },
      },
      {
        name: 'a little less in a day',
        series: failures(
          [
            [0, 4320],
            [355, 120],
          ],
          30,
        ),
        at: 4440,
      },
    ],
  },
  {
    alert: 'GatewayLatencyBudgetBurn',
    situations: [
      {
        name: '2 % of the budget of a month in an hour',
        series: slowness([
          [0, 360],
          [9000, 10],
        ]),
        at: 370,
        fires: { labels: job, description: slow('15%') },
      },
      {
        name: 'a little less in that hour',
        series: slowness([
          [0, 360],
          [8500, 10],
        ]),
        at: 370,
      },
      {
        name: 'the same hour, but the cause is mended',
        series: slowness([
          [0, 360],
          [9900, 10],
          [0, 6],
        ]),
        at: 376,
      },
      {
        name: '5 % of the budget in six hours',
        series: slowness([[610, 370]]),
        at: 370,
        fires: { labels: job, description: slow('6.1%') },
      },
      { name: 'a little less in six hours', series: slowness([[590, 370]]), at: 370 },
    ],
  },
  {
    alert: 'GatewayLatencyBudgetBurn',
    severity: 'warning',
    step: 30,
    situations: [
      {
        name: '10 % of the budget in three days',
        series: slowness([[110, 4350]], 30),
        at: 4350,
        fires: { labels: job, description: slow('1.1%') },
      },
      { name: 'a little less in three days', series: slowness([[90, 4350]], 30), at: 4350 },
    ],
  },
  {
    alert: 'GatewayMissing',
    situations: [
      {
        name: 'no gateway for five minutes',
        series: {},
        at: 6,
        fires: {
          labels: {},
          description:
            'Prometheus has no metrics of any gateway, so that no other alert of the gateway can fire.',
        },
      },
      { name: 'no gateway for four minutes', series: {}, at: 4 },
      { name: 'one of two gateways', series: { [`gateway_build_info{${source}}`]: gauge(1) }, at: 10 },
    ],
  },
  {
    alert: 'GatewayDown',
    situations: [
      {
        name: 'one of two gateways',
        series: {
          [`up{${source}}`]: gauge(0),
          'up{job="gateway",instance="gw-2:9090"}': gauge(1),
          'gateway_build_info{job="gateway",instance="gw-2:9090",version="1"}': gauge(1),
        },
        at: 3,
        fires: {
          labels: instance,
          description:
            'Prometheus has had no metrics of gw-1:9090 for 2 minutes: it has crashed, hangs, or cannot be reached. Other gateways respond.',
        },
      },
      {
        name: 'for a minute only',
        series: {
          [`up{${source}}`]: gauge(0),
          'gateway_build_info{job="gateway",instance="gw-2:9090",version="1"}': gauge(1),
        },
        at: 1,
      },
      {
        name: 'what is no gateway',
        series: {
          'up{job="other",instance="x:1"}': gauge(0),
          'gateway_build_info{job="gateway",instance="gw-2:9090",version="1"}': gauge(1),
        },
        at: 10,
      },
    ],
  },
  {
    alert: 'GatewayWithoutRedis',
    situations: [
      {
        name: 'for a minute',
        series: { [`gateway_local_mode{${source}}`]: gauge(1) },
        at: 1,
        fires: {
          labels: instance,
          description:
            'gateway_local_mode of gw-1:9090 is 1: it serves known API keys, limits them on its own, and refuses others with 503.',
        },
      },
      { name: 'for less than a minute', series: { [`gateway_local_mode{${source}}`]: gauge(1) }, at: 0 },
      { name: 'with Redis', series: { [`gateway_local_mode{${source}}`]: gauge(0) }, at: 10 },
    ],
  },
  {
    alert: 'GatewayRedisEmptied',
    situations: [
      {
        name: 'as one process sees it',
        series: {
          [`gateway_redis_emptied{${source}}`]: gauge(1),
          'gateway_redis_emptied{job="gateway",instance="gw-2:9090"}': gauge(0),
        },
        at: 0,
        fires: {
          labels: job,
          description:
            'Redis lacks the mark that it was set up. Requests of gateway with keys that it lacks get 503.',
        },
      },
      { name: 'as no process sees it', series: { [`gateway_redis_emptied{${source}}`]: gauge(0) }, at: 10 },
    ],
  },
  {
    alert: 'GatewayNoUpstreamReady',
    situations: [
      {
        name: 'none of two',
        series: {
          [`gateway_upstream_up{${source},service="pets-service",upstream="http://a"}`]: gauge(0),
          [`gateway_upstream_up{${source},service="pets-service",upstream="http://b"}`]: gauge(0),
        },
        at: 2,
        fires: {
          labels: { ...instance, service: 'pets-service' },
          description: 'gw-1:9090 finds none of 2 instances of pets-service ready, so its requests get 503.',
        },
      },
      {
        name: 'one of two',
        series: {
          [`gateway_upstream_up{${source},service="pets-service",upstream="http://a"}`]: gauge(0),
          [`gateway_upstream_up{${source},service="pets-service",upstream="http://b"}`]: gauge(1),
        },
        at: 20,
      },
      {
        name: 'one of one, while another service is ready',
        series: {
          [`gateway_upstream_up{${source},service="pets-service",upstream="http://a"}`]: gauge(1),
          [`gateway_upstream_up{${source},service="orders",upstream="http://b"}`]: gauge(0),
        },
        at: 2,
        fires: {
          labels: { ...instance, service: 'orders' },
          description: 'gw-1:9090 finds none of 1 instances of orders ready, so its requests get 503.',
        },
      },
    ],
  },
  {
    alert: 'GatewayUpstreamDown',
    situations: [
      {
        name: 'one of two, as both gateways see it',
        series: {
          [`gateway_upstream_up{${source},service="pets",upstream="http://a"}`]: gauge(0),
          'gateway_upstream_up{job="gateway",instance="gw-2:9090",service="pets",upstream="http://a"}':
            gauge(0),
          [`gateway_upstream_up{${source},service="pets",upstream="http://b"}`]: gauge(1),
          'gateway_upstream_up{job="gateway",instance="gw-2:9090",service="pets",upstream="http://b"}':
            gauge(1),
        },
        at: 3,
        fires: {
          labels: { ...job, service: 'pets', upstream: 'http://a' },
          description:
            'No gateway of gateway finds http://a ready (2 of them look). Its requests go to the other instances.',
        },
      },
      {
        name: 'one that a gateway still finds ready',
        series: {
          [`gateway_upstream_up{${source},service="pets",upstream="http://a"}`]: gauge(0),
          'gateway_upstream_up{job="gateway",instance="gw-2:9090",service="pets",upstream="http://a"}':
            gauge(1),
        },
        at: 10,
      },
      {
        name: 'one that is restarted',
        series: { [`gateway_upstream_up{${source},service="pets",upstream="http://a"}`]: '0x1 1x30' },
        at: 10,
      },
    ],
  },
  {
    alert: 'GatewayInvalidSettings',
    situations: [
      {
        name: 'one field for five minutes',
        series: { [`gateway_bad_settings{${source},key="gw:plan:pro"}`]: gauge(1) },
        at: 5,
        fires: {
          labels: { ...job, key: 'gw:plan:pro' },
          description:
            'gw:plan:pro has 1 invalid or missing fields. The last valid values stay in force; keys that need values which no gateway has get 503.',
        },
      },
      {
        name: 'one field for four minutes',
        series: { [`gateway_bad_settings{${source},key="gw:plan:pro"}`]: gauge(1) },
        at: 4,
      },
      { name: 'none', series: { [`gateway_bad_settings{${source},key="gw:plan:pro"}`]: gauge(0) }, at: 20 },
    ],
  },
  {
    alert: 'GatewayWorkersRestarting',
    situations: [
      {
        name: 'three in a quarter of an hour',
        series: { [`gateway_worker_restarts_total{${source}}`]: '0+0x5 1+0x4 2+0x4 3+0x15' },
        at: 16,
        fires: {
          labels: instance,
          description:
            'gw-1:9090 has replaced 3 workers in 15 minutes. Requests in flight in them were lost.',
        },
      },
      {
        name: 'two',
        series: { [`gateway_worker_restarts_total{${source}}`]: '0+0x5 1+0x4 2+0x19' },
        at: 16,
      },
    ],
  },
  {
    alert: 'GatewayConnectionsRefused',
    situations: [
      {
        name: 'fifteen in five minutes, and on',
        series: refused(3),
        at: 15,
        fires: {
          labels: { ...instance, limit: 'total' },
          description: 'gw-1:9090 has refused 15 connections in 5 minutes because of the limit "total".',
        },
      },
      { name: 'ten in five minutes, and on', series: refused(2), at: 15 },
    ],
  },
  {
    alert: 'GatewayRedisNearlyFull',
    situations: [
      {
        name: '91 %',
        series: memory(910),
        at: 6,
        fires: {
          labels: job,
          description:
            'Redis of gateway uses 91% of its memory. When it is full it refuses writes, and gateways work without it.',
        },
      },
      { name: '90 %', series: memory(900), at: 20 },
      {
        name: 'unknown',
        series: {
          [`gateway_redis_memory_used_bytes{${source}}`]: gauge(0),
          [`gateway_redis_memory_limit_bytes{${source}}`]: gauge(0),
        },
        at: 20,
      },
    ],
  },
  {
    alert: 'GatewayWebhookDisabled',
    situations: [
      {
        name: 'one of two gateways says so',
        series: disabledWebhooks([0, 1]),
        at: 5,
        fires: {
          labels: job,
          description: '1 webhooks of gateway get no events: they have failed for 24 hours, or are gone.',
        },
      },
      { name: 'none', series: disabledWebhooks([0, 0]), at: 5 },
    ],
  },
  {
    alert: 'GatewayFloodWithoutKeys',
    situations: [
      {
        name: 'a hundred a minute without a valid key, and 560 over the limit of their address',
        series: flood(100, 560),
        at: 15,
        fires: {
          labels: job,
          description: '11 requests a second to gateway have no valid key and are refused.',
        },
      },
      { name: 'ten a second', series: flood(100, 500), at: 20 },
      { name: 'keys over their limits', series: flood(0, 0, 6000), at: 20 },
    ],
  },
];

const alerts = rules.flatMap(({ alert, ...rule }) => (alert === undefined ? [] : [{ alert, ...rule }]));

/** Fills in the labels of an alert, as Prometheus does. */
const withLabels = (text: string, labels: Record<string, string>) =>
  text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels[name] ?? '');

describe('the alerts for Prometheus', { tags: ['prometheus'] }, () => {
  test('are a valid file of rules', () => {
    const { status, output } = runPromtool(['check', 'rules', '--lint-fatal', fileURLToPath(alertsFile)]);
    expect(output).toContain(`${rules.length} rules found`);
    expect(status).toBe(0);
  });

  test('are all tested', () => {
    expect(alertTests.map(({ alert }) => alert)).toEqual(alerts.map(({ alert }) => alert));
    for (const { situations } of alertTests) {
      expect(situations.some(({ fires }) => fires !== undefined)).toBe(true);
      expect(situations.some(({ fires }) => fires === undefined)).toBe(true);
    }
  });

  test.each(alertTests)(
    '$alert fires, and does not fire just below',
    async ({ alert, severity, step = 1, situations }) => {
      const rule = alerts.find(
        (other) =>
          other.alert === alert && (severity === undefined || other.labels?.['severity'] === severity),
      );
      // Without the rules that it does not depend on, which promtool would evaluate at every step.
      const needed = rules.filter(
        (other) =>
          (other.alert === alert && other.expr === rule?.expr) ||
          (other.record !== undefined && rule?.expr.includes(other.record)),
      );
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'test.yaml');
      const tests = {
        rule_files: ['rules.yaml'],
        evaluation_interval: `${step}m`,
        tests: situations.map(({ name, series, at, fires }) => ({
          name,
          interval: `${step}m`,
          input_series: Object.entries(series).map(([text, values]) => ({ series: text, values })),
          alert_rule_test: [
            {
              eval_time: `${at}m`,
              alertname: alert,
              exp_alerts:
                fires === undefined
                  ? []
                  : [
                      {
                        exp_labels: { ...fires.labels, ...rule?.labels },
                        exp_annotations: {
                          ...rule?.annotations,
                          summary: withLabels(rule?.annotations?.['summary'] ?? '', fires.labels),
                          description: fires.description,
                        },
                      },
                    ],
            },
          ],
        })),
      };
      const groups = [{ name: 'needed', rules: needed }];
      await writeFile(join(directory.path, 'rules.yaml'), JSON.stringify({ groups }));
      await writeFile(file, JSON.stringify(tests));
      const { output } = runPromtool(['test', 'rules', file]);
      expect(output).toContain('SUCCESS');
    },
  );
});

const runbook = readFileSync(new URL('../../RUNBOOK.md', alertsFile), 'utf8');

test.each(alerts)('$alert says how urgent it is, what is wrong, and where to read on', (rule) => {
  const { alert, labels, annotations } = rule;
  expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) as unknown });
  expect(annotations?.['summary']).toMatch(/^[A-Z].+[^.]$/);
  expect(annotations?.['description']).toMatch(/\.$/);
  expect(annotations?.['runbook_url']).toBe(`gateway/RUNBOOK.md#${alert.toLowerCase()}`);
  expect(runbook).toContain(`\n## ${alert}\n`);
});

test('RUNBOOK.md has a heading for each alert, in the order of the file, and for no other', () => {
  const headings = Array.from(runbook.matchAll(/^## (Gateway\w+)$/gm), ([, heading]) => heading);
  expect(headings).toEqual([...new Set(alerts.map(({ alert }) => alert))]);
});
