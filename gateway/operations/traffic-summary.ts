import { z } from 'zod';
import { windowFields } from '../limits/window-fields.ts';
import { forRequired, isWindowName, type ByRequiredWindow } from '../limits/windows.ts';
import { latencyOf, latencySchema, type DurationHistogram } from '../traffic/latency.ts';
import { parseBound, parseField, type TrafficCounts, type TrafficField } from '../traffic/traffic-fields.ts';

const planTrafficSchema = z
  .object({
    requests: z.number(),
    byStatus: z
      .record(z.string(), z.number())
      .describe('By class of status such as `2xx`; `aborted` by the client, or `cut_off` by the gateway'),
    refusals: z
      .object(windowFields(() => z.number()))
      .describe('Requests refused because a window was used up, by the window that refused'),
    bans: z.number().describe('New bans'),
    bannedRequests: z.number().describe('Requests refused during a ban'),
    unauthenticated: z
      .exactOptional(z.number())
      .describe(
        'Requests refused for want of a valid key, of the plan `anonymous`; absent if there were none',
      ),
    blockedRequests: z
      .exactOptional(z.number())
      .describe('Requests of blocked addresses, of the plan `anonymous`; absent if there were none'),
    localDecisions: z.number().describe('Requests decided without Redis'),
  })
  .meta({ id: 'PlanTraffic' });

export type PlanTraffic = z.infer<typeof planTrafficSchema>;

const latency = latencySchema.nullable();

/** Counts of some time. */
export const trafficSummarySchema = planTrafficSchema
  .extend({
    byPlan: z
      .record(z.string(), planTrafficSchema)
      .describe(
        'The same by plan; `none` stands for requests without a valid key, `(other)` for those of further plans',
      ),
    latencyMs: z
      .object({
        served: latency.describe('Of responses 2xx and 3xx'),
        all: latency.describe('Of all requests, also fast refusals and aborted ones'),
      })
      .describe('Null without requests, and for a single plan: durations are kept for all plans together'),
  })
  .meta({ id: 'TrafficCounts' });

export type TrafficSummary = z.infer<typeof trafficSummarySchema>;

/** The name of a plan that has no field of its own is empty. No plan can have this one. */
const otherPlans = '(other)';

const servedStatuses = new Set(['2xx', '3xx']);

/** @param plan the plan to be counted; undefined for all */
export function summarizeTraffic(counts: TrafficCounts, plan: string | undefined): TrafficSummary {
  const total = createTally();
  const tallies = new Map<string, Tally>();
  const served: DurationHistogram = new Map();
  const all: DurationHistogram = new Map();
  for (const [text, count] of counts) {
    const field = parseField(text);
    if (field === undefined) continue;
    const { kind, status, name } = field;
    if (kind === 'durations') {
      const bound = parseBound(name);
      for (const histogram of servedStatuses.has(status) ? [served, all] : [all]) {
        histogram.set(bound, (histogram.get(bound) ?? 0) + count);
      }
      continue;
    }
    const planName = name === '' ? otherPlans : name;
    if (plan !== undefined && plan !== planName) continue;
    const tally = tallies.get(planName) ?? createTally();
    tallies.set(planName, tally);
    addTo(tally, field, count);
    addTo(total, field, count);
  }
  return {
    ...planTraffic(total),
    byPlan: Object.fromEntries(Array.from(tallies, ([name, tally]) => [name, planTraffic(tally)])),
    latencyMs:
      plan === undefined ? { served: latencyOf(served), all: latencyOf(all) } : { served: null, all: null },
  };
}

interface Tally extends Omit<PlanTraffic, 'byStatus'> {
  byStatus: Map<string, number>;
}

function createTally(): Tally {
  return {
    requests: 0,
    byStatus: new Map(),
    refusals: noRefusals(),
    bans: 0,
    bannedRequests: 0,
    localDecisions: 0,
  };
}

function addTo(tally: Tally, { kind, status }: TrafficField, count: number): void {
  switch (kind) {
    case 'requests':
      tally.requests += count;
      tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + count);
      break;
    case 'refusals':
      if (isWindowName(status)) tally.refusals[status] = (tally.refusals[status] ?? 0) + count;
      break;
    case 'bans':
    case 'bannedRequests':
    case 'localDecisions':
      tally[kind] += count;
      break;
    case 'unauthenticated':
    case 'blockedRequests':
      tally[kind] = (tally[kind] ?? 0) + count;
      break;
    case 'durations':
      break;
  }
}

export function noRefusals(): ByRequiredWindow<number> {
  return forRequired(0);
}

/** Requests refused by any window. */
export function allRefusals(refusals: ByRequiredWindow<number>): number {
  return Object.values(refusals).reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

function planTraffic(tally: Tally): PlanTraffic {
  return { ...tally, byStatus: Object.fromEntries(tally.byStatus) };
}
