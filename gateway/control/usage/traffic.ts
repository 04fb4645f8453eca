import { z } from 'zod';
import { redisKeys } from '../../platform/redis/redis-keys.ts';
import { latencyOf, latencySchema } from '../../quota/recent-measures.ts';
import { countsByKind, keptMinutes, minuteMs, reportMs } from '../../quota/traffic.ts';
import type { ReadingSession } from '../session.ts';

export const trafficPointSchema = z
  .object({
    at: z.iso.datetime().describe('Beginning of the minute'),
    byStatus: z
      .record(z.string(), z.int())
      .describe(
        'Requests by class of status such as `2xx`; `aborted` by the client, or `cut_off` by the gateway',
      ),
    refused: z.int().describe('Of these, requests over a limit or during a ban'),
    latencyMs: latencySchema.nullable().describe('Of responses 2xx and 3xx; null without any'),
  })
  .meta({ id: 'TrafficPoint' });

export type TrafficPoint = z.infer<typeof trafficPointSchema>;

/** Redis executes the commands of a batch one after another: 1 to 2 ms, in which requests wait. */
const batchSize = 100;

/**
 * Reads the traffic of all gateways in the last 24 hours: a point for each minute that is over, oldest first. Minutes amid others
 * without requests are left out, since a chart needs the ends of a quiet time only.
 */
export async function readTraffic(session: ReadingSession): Promise<TrafficPoint[]> {
  const points: TrafficPoint[] = [];
  for await (const { minute, counts } of readMinutes(session)) {
    points.push({
      at: new Date(minute * minuteMs).toISOString(),
      byStatus: counts.get('status') ?? {},
      refused: Object.values(counts.get('refused') ?? {}).reduce((sum, count) => sum + count, 0),
      latencyMs: latencyOf(counts.get('ms') ?? {}),
    });
  }
  return points.filter((_point, index) => [index - 1, index, index + 1].some((at) => !isQuiet(points[at])));
}

const isQuiet = (point: TrafficPoint | undefined) =>
  point !== undefined && Object.keys(point.byStatus).length === 0;

/** Reads the last minutes whose reports have come. */
async function* readMinutes({ redis, now }: ReadingSession) {
  const end = Math.floor((now() - 1.2 * reportMs) / minuteMs);
  for (let first = end - keptMinutes; first < end; first += batchSize) {
    const minutes = Array.from({ length: Math.min(batchSize, end - first) }, (_, index) => first + index);
    const read = await Promise.all(minutes.map((minute) => redis.hgetall(redisKeys.traffic(minute))));
    yield* minutes.map((minute, index) => {
      const counts = Object.entries(read[index] ?? {}).map(([field, text]) => [field, Number(text)] as const);
      return { minute, counts: countsByKind(counts) };
    });
  }
}
