import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { chooseStep } from '../../operations/traffic-steps.ts';
import { readTraffic, trafficSchema, type Traffic } from '../../operations/traffic.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { route, type Api } from './route.ts';

const hourMs = 3_600_000;

/** Ranges, and how long one reading serves all consoles: the record of seven days has ten thousand buckets. */
const ranges = {
  '1h': { rangeMs: hourMs, cachedMs: 5000 },
  '6h': { rangeMs: 6 * hourMs, cachedMs: 30_000 },
  '24h': { rangeMs: 24 * hourMs, cachedMs: 60_000 },
  '7d': { rangeMs: 7 * 24 * hourMs, cachedMs: 300_000 },
} as const;

const trafficQuery = z.strictObject({
  last: z.enum(['1h', '6h', '24h', '7d']).describe('Range, in steps of 10 s, 1 min, 5 min or 30 min'),
  plan: z
    .string()
    .max(64)
    .optional()
    .describe('Counts of this plan only; `none` stands for requests without a valid key'),
});

const maxPoints = 360;
const maxCached = 20;

/** Creates a reader of the record of traffic whose readings serve all consoles. */
export function createTrafficReader({ search }: Pick<ApiDependencies, 'search'>): Api['readTraffic'] {
  const readings = new LRUCache<string, Promise<Traffic>>({ max: maxCached });
  return function readShared(req, { last, plan }) {
    const key = `${last} ${plan ?? ''}`;
    const known = readings.get(key);
    if (known !== undefined) return known;
    const { rangeMs, cachedMs } = ranges[last];
    const reading = search(req, (session) => {
      const toMs = session.now();
      const stepMs = chooseStep(rangeMs, maxPoints);
      return readTraffic(session, { fromMs: toMs - rangeMs, toMs, stepMs, plan });
    });
    readings.set(key, reading, { ttl: cachedMs });
    reading.catch(() => readings.delete(key));
    return reading;
  };
}

export const trafficRoutes = [
  route.get('/traffic', {
    operationId: 'getTraffic',
    summary: 'Record of the traffic of all gateways',
    description:
      'Counts are exact. They appear within seven seconds; one reading serves all consoles of a gateway for five seconds ' +
      '(`1h`) to five minutes (`7d`).',
    input: trafficQuery,
    responds: 'One point for each step, oldest first',
    result: trafficSchema,
    handle: ({ req, input }, { readTraffic }) => readTraffic(req, input),
  }),
];
