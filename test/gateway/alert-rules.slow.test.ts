import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { alertsFile, rules } from '../support/checks/observability-files.ts';
import { runPromtool } from '../support/kits/prometheus.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** A situation, its series by their names, the minute in which the alerts are looked at, and the alert if it fires. */
type Situation = [name: string, series: Record<string, string>, at: number, fires?: Alert];
/** Its value as its description says it. */
type Alert = [labels: Record<string, string>, value?: string];

type Segment = [perMinute: number, minutes: number];

const job = { job: 'gateway' };
const instance = { ...job, instance: 'gw-1:9090' };
const ofGateway = (index: number) => `job="gateway",instance="gw-${index}:9090"`;
const source = ofGateway(1);

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

/** Gauges of the first gateway. */
const gauges = (values: Record<string, number>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${name}{${source}}`, gauge(value)]));

/** The other one of two gateways, which runs. */
const running = { [`gateway_build_info{${ofGateway(2)},version="1"}`]: gauge(1) };

/** Whether an instance of a service is ready, as a gateway sees it. */
const upstream = (service: string, address: string, up: number, gatewayIndex = 1) => ({
  [`gateway_upstream_up{${ofGateway(gatewayIndex)},service="${service}",upstream="http://${address}"}`]:
    gauge(up),
});

type Series = (segments: readonly Segment[], step?: number) => Record<string, string>;

/** Requests of which a share of so many in ten thousand fails; refused ones must not hide that. */
const failures: Series = (segments, step) => {
  const requests = (status: string) => `gateway_requests_total{${source},status="${status}"}`;
  const minutes = segments.reduce((sum, [, length]) => sum + length, 0);
  const others = segments.map(([failed, length]): Segment => [10_000 - failed, length]);
  return {
    [requests('2xx')]: counter(others, step),
    [requests('5xx')]: counter(segments, step),
    [requests('cut_off')]: counter([[0, minutes]], step),
    [requests('4xx')]: counter([[90_000, minutes]], step),
  };
};

/** The same for slow requests. */
const slowness: Series = (segments, step) => {
  const name = 'gateway_request_duration_seconds';
  const minutes = segments.reduce((sum, [, length]) => sum + length, 0);
  const fast = segments.map(([slow, length]): Segment => [10_000 - slow, length]);
  return {
    [`${name}_bucket{${source},le="0.25"}`]: counter(fast, step),
    [`${name}_count{${source}}`]: counter([[10_000, minutes]], step),
  };
};

/** After six good hours, so many in ten thousand for some minutes. */
const afterGoodHours = (perMinute: number, minutes: number): Segment[] => [
  [0, 360],
  [perMinute, minutes],
];

/** The rate of an hour and of six hours: above, and a little below what fires. */
const fastBurn = (
  series: Series,
  hour: { above: number; share: string; below: number; mended: number },
  sixHours: { above: number; share: string; below: number },
): Situation[] => [
  ['2 % of the budget of a month in an hour', series(afterGoodHours(hour.above, 10)), 370, [job, hour.share]],
  ['a little less in that hour', series(afterGoodHours(hour.below, 10)), 370],
  ['the same hour, but the cause is mended', series([...afterGoodHours(hour.mended, 10), [0, 6]]), 376],
  ['5 % of the budget in six hours', series([[sixHours.above, 370]]), 370, [job, sixHours.share]],
  ['a little less in six hours', series([[sixHours.below, 370]]), 370],
];

const slowBurn = (series: Series, share: string, above: number, below: number): Situation[] => [
  ['10 % of the budget in three days', series([[above, 4350]], 30), 4350, [job, share]],
  ['a little less in three days', series([[below, 4350]], 30), 4350],
];

/** Errors of a day after three good ones. */
const inADay = (perMinute: number) =>
  failures(
    [
      [0, 4320],
      [perMinute, 120],
    ],
    30,
  );

/** What each of two gateways says of the webhooks of both. */
const disabledWebhooks = (counts: readonly [number, number]): Record<string, string> =>
  Object.fromEntries(
    counts.map((count, index) => [`gateway_webhooks_disabled{${ofGateway(index + 1)}}`, gauge(count)]),
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

const memory = (usedBytes: number, limitBytes = 1000) =>
  gauges({ gateway_redis_memory_used_bytes: usedBytes, gateway_redis_memory_limit_bytes: limitBytes });

const refused = (perMinute: number) => ({
  [`gateway_refused_connections_total{${source},limit="total"}`]: counter([[perMinute, 30]]),
});

const restarts = (values: string) => ({ [`gateway_worker_restarts_total{${source}}`]: values });

const invalid = (fields: number) => ({
  [`gateway_bad_settings{${source},key="gw:plan:pro"}`]: gauge(fields),
});

/** By the alert, and its severity if it has two rules. */
const situations: Record<string, Situation[]> = {
  GatewayErrorBudgetBurn: fastBurn(
    failures,
    { above: 930, share: '1.55%', below: 850, mended: 1200 },
    { above: 61, share: '0.61%', below: 59 },
  ),
  'GatewayErrorBudgetBurn warning': [
    ...slowBurn(failures, '0.11%', 11, 9),
    ['10 % of the budget in a day', inADay(365), 4440, [job, '0.3042%']],
    ['a little less in a day', inADay(355), 4440],
  ],
  GatewayLatencyBudgetBurn: fastBurn(
    slowness,
    { above: 9000, share: '15%', below: 8500, mended: 9900 },
    { above: 610, share: '6.1%', below: 590 },
  ),
  'GatewayLatencyBudgetBurn warning': slowBurn(slowness, '1.1%', 110, 90),
  GatewayMissing: [
    ['no gateway for five minutes', {}, 6, [{}]],
    ['no gateway for four minutes', {}, 4],
  ],
  GatewayDown: [
    ['for a minute only', { ...gauges({ up: 0 }), ...running }, 1],
    [
      'one of two gateways',
      { ...gauges({ up: 0 }), [`up{${ofGateway(2)}}`]: gauge(1), ...running },
      3,
      [instance],
    ],
  ],
  GatewayWithoutRedis: [
    ['for a minute', gauges({ gateway_local_mode: 1 }), 1, [instance, '1']],
    ['for less than a minute', gauges({ gateway_local_mode: 1 }), 0],
  ],
  GatewayRedisEmptied: [
    [
      'as one process sees it',
      { ...gauges({ gateway_redis_emptied: 1 }), [`gateway_redis_emptied{${ofGateway(2)}}`]: gauge(0) },
      0,
      [job],
    ],
    ['as no process sees it', gauges({ gateway_redis_emptied: 0 }), 10],
  ],
  GatewayNoUpstreamReady: [
    [
      'none of two',
      { ...upstream('pets-service', 'a', 0), ...upstream('pets-service', 'b', 0) },
      2,
      [{ ...instance, service: 'pets-service' }, '2'],
    ],
    ['one of two', { ...upstream('pets-service', 'a', 0), ...upstream('pets-service', 'b', 1) }, 20],
    [
      'one of one, while another service is ready',
      { ...upstream('pets-service', 'a', 1), ...upstream('orders', 'b', 0) },
      2,
      [{ ...instance, service: 'orders' }, '1'],
    ],
  ],
  GatewayUpstreamDown: [
    [
      'one of two, as both gateways see it',
      {
        ...upstream('pets', 'a', 0),
        ...upstream('pets', 'a', 0, 2),
        ...upstream('pets', 'b', 1),
        ...upstream('pets', 'b', 1, 2),
      },
      3,
      [{ ...job, service: 'pets', upstream: 'http://a' }, '2'],
    ],
    [
      'one that a gateway still finds ready',
      { ...upstream('pets', 'a', 0), ...upstream('pets', 'a', 1, 2) },
      10,
    ],
  ],
  GatewayInvalidSettings: [
    ['one field for five minutes', invalid(1), 5, [{ ...job, key: 'gw:plan:pro' }, '1']],
    ['one field for four minutes', invalid(1), 4],
  ],
  GatewayWorkersRestarting: [
    ['three in a quarter of an hour', restarts('0+0x5 1+0x4 2+0x4 3+0x15'), 16, [instance, '3']],
    ['two', restarts('0+0x5 1+0x4 2+0x19'), 16],
  ],
  GatewayConnectionsRefused: [
    ['fifteen in five minutes, and on', refused(3), 15, [{ ...instance, limit: 'total' }, '15']],
    ['ten in five minutes, and on', refused(2), 15],
  ],
  GatewayRedisNearlyFull: [
    ['91 %', memory(910), 6, [job, '91%']],
    ['90 %', memory(900), 20],
  ],
  GatewayWebhookDisabled: [
    ['one of two gateways says so', disabledWebhooks([0, 1]), 5, [job, '1']],
    ['none', disabledWebhooks([0, 0]), 5],
  ],
  GatewayFloodWithoutKeys: [
    [
      'a hundred a minute without a valid key, and 560 over the limit of their address',
      flood(100, 560),
      15,
      [job, '11'],
    ],
    ['ten a second', flood(100, 500), 20],
  ],
};

const alerts = rules.flatMap(({ alert, ...rule }) => (alert === undefined ? [] : [{ alert, ...rule }]));

/** Fills in the labels and the value of an alert, as Prometheus does. */
const filled = (text: string | undefined, [labels, value = '']: Alert) =>
  text
    ?.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name: string) => labels[name] ?? '')
    .replaceAll(/\{\{ \$value( \| \w+)? \}\}/g, value);

describe('the alerts for Prometheus', { tags: ['prometheus'] }, () => {
  test('are a valid file of rules', () => {
    const { status, output } = runPromtool(['check', 'rules', '--lint-fatal', fileURLToPath(alertsFile)]);
    expect(output).toContain(`${rules.length} rules found`);
    expect(status).toBe(0);
  });

  test('are all tested', () => {
    expect(Object.keys(situations).map((name) => name.split(' ')[0])).toEqual(
      alerts.map(({ alert }) => alert),
    );
    for (const ofRule of Object.values(situations)) {
      expect(ofRule.some(([, , , fires]) => fires !== undefined)).toBe(true);
      expect(ofRule.some(([, , , fires]) => fires === undefined)).toBe(true);
    }
  });

  test.each(Object.entries(situations))(
    '%s fires, and does not fire just below',
    async (name, situations) => {
      const [alert = '', severity] = name.split(' ');
      // Those that look at days: minutes between two samples, and two evaluations.
      const step = severity === undefined ? 1 : 30;
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
      const expected = (alert: Alert) => ({
        exp_labels: { ...alert[0], ...rule?.labels },
        exp_annotations: {
          ...rule?.annotations,
          summary: filled(rule?.annotations?.['summary'], alert),
          description: filled(rule?.annotations?.['description'], alert),
        },
      });
      await using directory = await temporaryDirectory();
      const file = join(directory.path, 'test.yaml');
      const tests = {
        rule_files: ['rules.yaml'],
        evaluation_interval: `${step}m`,
        tests: situations.map(([name, series, at, fires]) => ({
          name,
          interval: `${step}m`,
          input_series: Object.entries(series).map(([text, values]) => ({ series: text, values })),
          alert_rule_test: [
            {
              eval_time: `${at}m`,
              alertname: alert,
              exp_alerts: fires === undefined ? [] : [expected(fires)],
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
