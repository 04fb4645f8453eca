import { livePointSchema } from '../live/live-feed.ts';
import { liveStateSchema } from '../live/live-state.ts';
import { route } from './route.ts';

/** The stream of events for open consoles. */
export const liveRoutes = [
  route.get('/live', {
    operationId: 'watchLive',
    noun: null,
    summary: 'What happens now, as server-sent events',
    description:
      'First an event `history`, whose data is a list of LivePoint for the last five minutes at most, and then an event ' +
      '`state` each second, whose data is a LiveState. A comment every 15 seconds shows that the stream works. It ends when ' +
      'the session ends, when the gateway stops, and for a reader that does not keep up. 51 streams of one gateway are too many.',
    responds: 'The events',
    events: [livePointSchema, liveStateSchema],
    handle: ({ req, res }, { sendEvents }) => sendEvents(req, res),
  }),
];
