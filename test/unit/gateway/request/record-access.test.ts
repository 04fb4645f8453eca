import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deliveryOutcomes } from '../../../../gateway/control/webhooks/stored-webhooks.ts';
import { createMetrics } from '../../../../gateway/platform/observability/metrics.ts';
import { builtInPlans } from '../../../../gateway/quota/plan-settings.ts';
import { showKnownSeries, showPlanLimits } from '../../../../gateway/request/record-access.ts';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';

const readme = readFileSync(new URL('../../../../gateway/OPERATE.md', import.meta.url), 'utf8');

test('a gateway starts with as many series as its document says, and a plan adds as many', async () => {
  const metrics = createMetrics();
  const count = async (name: string) =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(name)).length;
  showKnownSeries(metrics, loadApiDescription());
  // As the events do.
  for (const outcome of deliveryOutcomes) metrics.deliveries.inc({ outcome }, 0);
  for (const [plan, { defaults: limits }] of builtInPlans) showPlanLimits(metrics, plan, limits);
  const atStart = await count('gateway_');
  const durations = await count('gateway_request_duration_seconds');
  showPlanLimits(metrics, 'gold', { minute: 60, day: 1000 });
  const ofPlan = (await count('gateway_')) - atStart;
  expect(readme).toContain(`shows ${atStart} of its own at its start`);
  expect(readme).toContain(`${durations} of them are the`);
  expect(readme).toContain(`Each further plan adds ${ofPlan},`);
  // An operator may set the same plan again and again.
  showPlanLimits(metrics, 'gold', { minute: 70, day: 1000 });
  expect(await count('gateway_')).toBe(atStart + ofPlan);
});
