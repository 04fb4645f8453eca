import { z } from 'zod';
import { fleetTrafficSchema } from '../../operations/fleet-traffic.ts';
import { problemSchema } from '../../operations/problems/problem.ts';
import { upstreamStateSchema } from '../../operations/problems/upstream-states.ts';
import { redisServerSchema } from '../../operations/redis-status.ts';
import { publishedStatus } from '../../redis/process-statuses.ts';

const time = z.iso.datetime();

/** A process without what the rest of the state has of it. */
const processSchema = publishedStatus
  .omit({
    gateway: true,
    at: true,
    counts: true,
    keysInUse: true,
    invalidSettings: true,
    lostKeys: true,
    upstreams: true,
    services: true,
    earlierLocalModes: true,
    recent: true,
  })
  .extend({
    worker: z.int().nullable().describe('Null in a gateway of one process'),
    seenAt: time,
    state: z.enum(['starting', 'ok', 'draining', 'not_seen']),
    localMode: publishedStatus.shape.localMode.describe(
      'When Redis was last unavailable to it; `to` is null while it is',
    ),
    connections: z.int().describe('Open client connections'),
    busy: z.number().describe('Share of the last half second in which its event loop was busy'),
    rssBytes: z.int(),
  });

const gatewaySchema = publishedStatus.shape.gateway
  .extend({
    id: z.string().describe('Another one at each start'),
    workers: z.int().describe('Processes that are to serve requests'),
    version: z.string(),
    state: z.enum(['starting', 'ok', 'draining', 'incomplete', 'not_seen']),
    processes: z.array(processSchema),
    crashedAt: z
      .exactOptional(time)
      .describe('When the one before it, of the same name, was last seen if it has not shut down'),
    restartedAt: z.array(time).describe('Unexpected exits of workers in the last 15 minutes'),
  })
  .meta({ id: 'Gateway' });

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
    recent: publishedStatus.shape.recent.unwrap().describe('What gateways have measured in the last minute'),
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
