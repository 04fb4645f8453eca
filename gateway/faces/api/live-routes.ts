import { listOf } from '../../control/list-schemas.ts';
import { liveStateSchema, type Live } from '../../control/status/live-state.ts';
import { trafficPointSchema } from '../../control/usage/traffic.ts';
import { route } from './route.ts';
import type { SessionApi } from './sessions.ts';

export interface LiveApi extends SessionApi {
  live: Live;
}

/** What consoles poll. It is no operation: it is read once for all who ask, and tells of an unavailable Redis. */
export const liveRoutes = [
  route({
    operationId: 'getLive',
    http: 'GET /live',
    noun: 'traffic',
    summary: 'What is wrong, gateways, services, Redis, and what was counted in the last minute',
    description: 'The overview asks for it every two seconds; one reading serves all consoles for a second.',
    responds: 'The state of all gateways',
    result: liveStateSchema,
    handle: (_call, { live }: LiveApi) => live.state(),
  }),
  route({
    operationId: 'getTraffic',
    http: 'GET /traffic',
    summary: 'Requests of all gateways by the minute in the last 24 hours',
    description:
      'A minute is there some seconds after its end; one reading serves all consoles for ten seconds.',
    responds: 'A point for each minute, oldest first, without those amid others without requests',
    result: listOf(trafficPointSchema),
    handle: async (_call, { live }: LiveApi) => ({ items: await live.traffic(), next: null }),
  }),
];
