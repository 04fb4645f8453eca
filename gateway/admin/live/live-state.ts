import { z } from 'zod';
import { fleetTrafficSchema } from '../../operations/fleet-traffic.ts';
import { gatewaySchema } from '../../operations/fleet-view.ts';
import { problemSchema } from '../../operations/problems/problem.ts';
import { upstreamStateSchema } from '../../operations/problems/upstream-states.ts';
import { redisServerSchema } from '../../operations/redis-status.ts';
import { publishedStatus } from '../../redis/process-statuses.ts';

const time = z.iso.datetime();

/** What consoles show, as of one second. The event `state` of /api/live. */
export const liveStateSchema = z
  .object({
    at: time,
    summary: z.string().describe('The state in a sentence'),
    problems: z.array(problemSchema).describe('What is wrong, most severe first'),
    redis: z
      .discriminatedUnion('available', [
        z.object({ available: z.literal(true), servers: z.array(redisServerSchema) }),
        z.object({ available: z.literal(false), since: time }),
      ])
      .describe('While it is not, figures of this gateway go on; those of other gateways are as last seen'),
    traffic: fleetTrafficSchema.nullable().describe('Null in the first second'),
    activeBans: z.int(),
    gateways: z.array(gatewaySchema),
    withoutStatus: z.int().describe('Processes of a release that publishes no status'),
    upstreams: z.array(upstreamStateSchema),
    recent: publishedStatus.shape.recent.describe('What gateways have measured in the last minute'),
    busiestKeys: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          plan: z.string(),
          state: z.string(),
          requests: z.int(),
          refused: z.int(),
        }),
      )
      .nullable()
      .describe('Of the last minute, the busiest first; null while they cannot be read'),
  })
  .meta({ id: 'LiveState', description: 'Times are those of the clock of Redis.' });

export type LiveState = z.infer<typeof liveStateSchema>;
