import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { dashboard, fillVariables, rules } from '../support/checks/observability-files.ts';
import { send } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { runPromtool, startPrometheus } from '../support/kits/prometheus.ts';
import { shared } from '../support/kits/shared.ts';

/** Labels that Prometheus adds to every series. */
const targetLabels = ['job', 'instance'];

const panels = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);
const recorded = new Set(rules.map(({ record }) => record));
const queries = dashboard.templating.list.flatMap(({ query }) => {
  const text = query instanceof Object && 'query' in query ? String(query.query) : '';
  const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(text) ?? [];
  return selector === undefined || label === undefined ? [] : [{ selector, label }];
});
const expressions = [
  ...panels.map(({ title, expr }) => ({ name: `the panel ${title}`, expr })),
  ...rules.map(({ record, alert, expr }) => ({ name: `the rule ${record ?? alert ?? ''}`, expr })),
  ...queries.map(({ selector }) => ({ name: `the variable of ${selector}`, expr: selector })),
];

describe('the metrics of a gateway with two workers and of a pets service', () => {
  let gateway: string;
  let pets: string;
  let exposed: Exposition;

  const scrape = async (url: string) => (await send(`${url}/metrics`)).text;

  const services = shared(() => startBothServices({ GATEWAY_WORKERS: '2' }));
  beforeAll(async () => {
    using redis = await connectRedis(services.redisUrl);
    await redis.hset(redisKeys.plan('pro'), 'shadowMinute', '200');
    const { adminUrl, url } = services.gateway;
    await send(`${url}/v1/pets`, { key: services.key });
    do gateway = await scrape(adminUrl);
    while (!gateway.includes('gateway_shadow_refusals_total{'));
    pets = await scrape(services.petsService.url);
    exposed = parseExposition(gateway + pets);
  });

  /** @returns names, labels and values of the expression that do not exist */
  function unknownIn(expr: string): string[] {
    const { selectors, grouping } = parsePromql(fillVariables(expr));
    const known = new Set(targetLabels);
    const unknown: string[] = [];
    for (const { metric, matchers } of selectors) {
      // Prometheus itself makes `up`, with the labels of the target.
      if (recorded.has(metric) || metric === 'up') continue;
      const labels = exposed.get(metric);
      if (labels === undefined) unknown.push(metric);
      for (const label of labels?.keys() ?? []) known.add(label);
      for (const { label, value, isRegex } of matchers) {
        if (targetLabels.includes(label)) continue;
        const values = isRegex ? value.split('|') : [value];
        for (const one of values)
          if (labels?.get(label)?.has(one) !== true) unknown.push(`${label}="${one}"`);
      }
    }
    return [...unknown, ...grouping.filter((label) => !known.has(label))];
  }

  test('have every name, label and value that the dashboard and the alerts ask for', () => {
    expect(expressions.length).toBeGreaterThan(70);
    expect(
      expressions.flatMap(({ name, expr }) => unknownIn(expr).map((text) => `${name}: ${text}`)),
    ).toEqual([]);
  });

  test('are all on the dashboard', () => {
    const shown = new Set(
      panels.flatMap(({ expr }) =>
        parsePromql(fillVariables(expr)).selectors.map(({ metric }) => metric.replace(/_bucket$/, '')),
      ),
    );
    const own = Array.from(
      (gateway + pets).matchAll(/^# TYPE ((?:gateway|pets)_\w+)/gm),
      ([, name = '']) => name,
    );
    expect(own.length).toBeGreaterThan(25);
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
  });

  test('show the limits in force, and one version whatever the number of workers', async () => {
    const lines = gateway.split('\n');
    for (const [plan, window, limit] of [
      ['free', 'minute', 60],
      ['free', 'day', 1000],
      ['business', 'minute', 1000],
    ]) {
      expect(lines).toContain(`gateway_plan_limit{plan="${plan}",window="${window}"} ${limit}`);
    }
    // The kit has raised it a moment ago.
    const anonymous = 'gateway_plan_limit{plan="anonymous",window="minute"} 1000000';
    await expect.poll(async () => (await scrape(services.gateway.adminUrl)).split('\n')).toContain(anonymous);
    expect(gateway).not.toContain('gateway_plan_limit{plan="anonymous",window="day"}');
    const build = /_build_info\{version="1\.0\.0",node_version="v26\.\d+\.\d+"\} 1$/m;
    expect(gateway).toMatch(build);
    expect(pets).toMatch(build);
  });

  describe('in Prometheus', { tags: ['prometheus'] }, () => {
    const prometheus = shared(() =>
      startPrometheus({
        jobs: { gateways: services.gateway.adminUrl, 'pets-services': services.petsService.url },
        intervalMs: 500,
      }),
    );

    test.each([
      ['gateway', () => gateway],
      ['pets service', () => pets],
    ])('follow its rules of naming: %s', (_name, text) => {
      expect(runPromtool(['check', 'metrics'], text())).toEqual({ status: 0, output: '' });
    });

    test('fill every panel while all is well, with the labels that its legend has', async () => {
      const empty: string[] = [];
      for (const { title, expr, legendFormat } of panels) {
        const series = await prometheus.query(fillVariables(expr));
        if (series.length === 0) empty.push(title);
        const named = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label);
        for (const { metric } of series) expect(Object.keys(metric)).toEqual(expect.arrayContaining(named));
      }
      expect(empty).toEqual([]);
    });

    test.each(queries)(
      'a variable of the dashboard has values: $label of $selector',
      async ({ selector, label }) => {
        const values = (await prometheus.query(fillVariables(selector))).map(({ metric }) => metric[label]);
        expect(values).toHaveLength(1);
        expect(values[0]).toMatch(/^(gateways|pets-services|127\.0\.0\.1:\d+)$/);
      },
    );
  });
});

/** What a service exposes: for each name that a selector can have, the labels of its series and their values. */
type Exposition = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

/** @param text in Prometheus' text format */
function parseExposition(text: string): Exposition {
  const names = new Map<string, Map<string, Set<string>>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = names.get(name) ?? new Map<string, Set<string>>();
    names.set(name, known);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  }
  return names;
}

interface Matcher {
  label: string;
  value: string;
  isRegex: boolean;
}

interface Selector {
  metric: string;
  matchers: Matcher[];
}

interface Expression {
  selectors: Selector[];
  /** Labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  grouping: string[];
}

/** @throws Error if the expression is not valid PromQL */
function parsePromql(text: string): Expression {
  const expression: Expression = { selectors: [], grouping: [] };
  const textOf = ({ from, to }: { from: number; to: number }) => text.slice(from, to);
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${text}`);
      const { parent } = node.node;
      if (node.name === 'LabelName' && parent?.name === 'GroupingLabels') {
        expression.grouping.push(textOf(node));
      }
      if (node.name === 'VectorSelector') {
        const name = node.node.getChild('Identifier');
        if (name === null) throw new Error(`a selector without the name of a metric: ${text}`);
        expression.selectors.push({ metric: textOf(name), matchers: [] });
      }
      if (node.name === 'UnquotedLabelMatcher') {
        const label = node.node.getChild('LabelName');
        const literal = node.node.getChild('StringLiteral');
        const operator = node.node.getChild('MatchOp');
        if (label === null || literal === null || operator === null) throw new Error(`a matcher in ${text}`);
        expression.selectors.at(-1)?.matchers.push({
          label: textOf(label),
          value: textOf(literal).slice(1, -1),
          isRegex: textOf(operator).includes('~'),
        });
      }
    },
  });
  return expression;
}
