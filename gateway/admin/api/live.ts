import { Router } from 'express';
import { sessionOf } from '../access/console-session.ts';
import type { LiveFeed } from '../live/live-feed.ts';
import { sendEvents } from '../live/send-events.ts';

/** `/api/live`: what happens now, as server-sent events. */
export function liveApi(feed: LiveFeed): Router {
  return Router().get(
    '/live',
    sendEvents(feed, (req) => sessionOf(req).id),
  );
}
