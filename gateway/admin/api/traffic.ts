import { Router, type Request } from 'express';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { chooseStep } from '../../operations/traffic-steps.ts';
import { readTraffic, type Traffic } from '../../operations/traffic.ts';
import type { ApiDependencies } from './api-dependencies.ts';

const hourMs = 3_600_000;

/** Ranges, and how long one reading serves all consoles: the record of seven days has ten thousand buckets. */
const ranges = {
  '1h': { rangeMs: hourMs, cachedMs: 5000 },
  '6h': { rangeMs: 6 * hourMs, cachedMs: 30_000 },
  '24h': { rangeMs: 24 * hourMs, cachedMs: 60_000 },
  '7d': { rangeMs: 7 * 24 * hourMs, cachedMs: 300_000 },
} as const;

const query = z.strictObject({
  last: z.enum(['1h', '6h', '24h', '7d']),
  plan: z.string().max(64).optional(),
});

const maxPoints = 360;
const maxCached = 20;

/** `/api/traffic`: the record of traffic of all gateways. */
export function trafficApi({ search }: ApiDependencies): Router {
  const readings = new LRUCache<string, Promise<Traffic>>({ max: maxCached });

  function readShared(req: Request, { last, plan }: z.infer<typeof query>): Promise<Traffic> {
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
  }

  return Router().get('/traffic', async (req, res) => {
    res.json(await readShared(req, query.parse(req.query)));
  });
}
