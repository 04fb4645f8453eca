import { z } from 'zod';
import { publishedStatus } from '../redis/process-statuses.ts';
import type { FleetGateway, FleetProcess } from './fleet-status.ts';

const time = z.iso.datetime();

/** A process without what the rest of the state has of it. */
const processSchema = publishedStatus
  .omit({
    gateway: true,
    at: true,
    invalidSettings: true,
    redisEmptied: true,
    services: true,
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

/** A gateway as operators see it. */
export const gatewaySchema = publishedStatus.shape.gateway
  .extend({
    id: z.string().describe('Another one at each start'),
    workers: z.int().describe('Processes that are to serve requests'),
    version: z.string(),
    state: z.enum(['starting', 'ok', 'draining', 'incomplete', 'not_seen']),
    processes: z.array(processSchema),
    restartedAt: z.array(time).describe('Unexpected exits of workers in the last 15 minutes'),
  })
  .meta({ id: 'Gateway' });

export type GatewayView = z.infer<typeof gatewaySchema>;
export type ProcessView = z.infer<typeof processSchema>;

export function viewGateway({ processes, ...gateway }: FleetGateway): GatewayView {
  return { ...gateway, processes: processes.map(viewProcess) };
}

function viewProcess({ seenAtMs, ...process }: FleetProcess): ProcessView {
  return processSchema.parse({ ...process, seenAt: new Date(seenAtMs).toISOString() });
}
