import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { timeInput } from '../../operations/key-input.ts';
import { chooseRecordedStep } from '../../operations/traffic-steps.ts';
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

const trafficQuery = z
  .strictObject({
    last: z
      .enum(['1h', '6h', '24h', '7d'])
      .optional()
      .describe('Range up to now, in steps of 10 s, 1 min, 5 min or 30 min; or give `from` and `to`'),
    from: timeInput.optional().describe('Beginning of the range, at most seven days ago'),
    to: timeInput.optional().describe('End of the range'),
    plan: z
      .string()
      .max(64)
      .optional()
      .describe('Counts of this plan only; `none` stands for requests without a valid key'),
  })
  .refine(
    ({ last, from, to }) =>
      last === undefined ? from !== undefined && to !== undefined : from === undefined && to === undefined,
    { error: 'give either last, or from and to' },
  );

/** Of a free range, and of one without requests. */
const shortMs = 5000;
const maxPoints = 360;
const maxCached = 20;

/** Creates a reader of the record of traffic whose readings serve all consoles. */
export function createTrafficReader({ search }: Pick<ApiDependencies, 'search'>): Api['readTraffic'] {
  const readings = new LRUCache<string, Promise<Traffic>>({ max: maxCached });
  return function readShared(req, query) {
    const { last, from, to, plan } = query;
    const key = JSON.stringify([last, from, to, plan]);
    const known = readings.get(key);
    if (known !== undefined) return known;
    const reading = search(req, (session) => {
      const nowMs = session.now();
      const toMs = to?.getTime() ?? nowMs;
      const fromMs = from?.getTime() ?? toMs - ranges[last ?? '1h'].rangeMs;
      const stepMs = chooseRecordedStep({ fromMs, toMs }, nowMs, maxPoints);
      // The record has whole steps: the last point would be what is in one, by a part of its time.
      const endMs = to === undefined ? toMs : Math.ceil(toMs / stepMs) * stepMs;
      return readTraffic(session, { fromMs, toMs: endMs, stepMs, plan });
    });
    readings.set(key, reading, { ttl: last === undefined ? shortMs : ranges[last].cachedMs });
    reading.then(
      // Whoever waits for the first request would not see it for minutes.
      ({ total }) => total.requests === 0 && readings.set(key, reading, { ttl: shortMs }),
      () => readings.delete(key),
    );
    return reading;
  };
}

export const trafficRoutes = [
  route.get('/traffic', {
    operationId: 'getTraffic',
    summary: 'Record of the traffic of all gateways',
    description:
      'Counts are exact. They appear within seven seconds; one reading serves all consoles of a gateway for five seconds ' +
      '(`1h`, and a range of its own) to five minutes (`7d`).',
    input: trafficQuery,
    responds: 'One point for each step, oldest first',
    result: trafficSchema,
    handle: ({ req, input }, { readTraffic }) => readTraffic(req, input),
  }),
];
