import { listOf } from '../../control/list-schemas.ts';
import { trafficPointSchema } from '../../control/usage/traffic.ts';
import { liveStateSchema } from './live-state.ts';
import { route } from './route.ts';

export const liveRoutes = [
  route.get('/live', {
    operationId: 'getLive',
    noun: 'traffic',
    summary: 'What is wrong, gateways, services, Redis, and what was counted in the last minute',
    description: 'The overview asks for it every two seconds; one reading serves all consoles for a second.',
    responds: 'The state of all gateways',
    result: liveStateSchema,
    handle: (_call, { live }) => live.state(),
  }),
  route.get('/traffic', {
    operationId: 'getTraffic',
    summary: 'Requests of all gateways by the minute in the last 24 hours',
    description:
      'A minute is there some seconds after its end; one reading serves all consoles for ten seconds.',
    responds: 'A point for each minute, oldest first, without those amid others without requests',
    result: listOf(trafficPointSchema),
    handle: async (_call, { live }) => ({ items: await live.traffic(), next: null }),
  }),
];
