import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const read = (name: string) =>
  readFileSync(new URL(`../../../gateway/platform/observability/${name}`, import.meta.url), 'utf8');

const ruleSchema = z.object({
  record: z.string().optional(),
  alert: z.string().optional(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.record(z.string(), z.string()).optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});

const rulesSchema = z.object({ groups: z.array(z.object({ name: z.string(), rules: z.array(ruleSchema) })) });

const links = z.array(z.object({ title: z.string(), url: z.string() })).default([]);

const dashboardSchema = z.object({
  links,
  templating: z.object({
    list: z.array(z.object({ name: z.string(), query: z.unknown(), allValue: z.string().optional() })),
  }),
  panels: z.array(
    z.object({
      id: z.number(),
      type: z.string(),
      title: z.string(),
      links,
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
    }),
  ),
});

export const alertsFile = new URL('../../../gateway/platform/observability/alerts.yaml', import.meta.url);
export const alertsText = read('alerts.yaml');
/** Rules that record, and rules that alert, in their order. */
export const rules = rulesSchema.parse(parse(alertsText)).groups.flatMap((group) => group.rules);
export const dashboard = dashboardSchema.parse(JSON.parse(read('grafana-dashboard.json')));

/** Replaces the variables of the dashboard as Grafana does when everything is selected. */
export function fillVariables(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5s').replaceAll(/\$(?:job|instance|pets_job)\b/g, '.+');
}
