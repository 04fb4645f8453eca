import { Router } from 'express';
import type { LiveFeed } from '../live/live-feed.ts';
import { sendEvents } from '../live/send-events.ts';

/** `/api/live`: what happens now, as server-sent events. */
export function liveApi(feed: LiveFeed): Router {
  return Router().get('/live', sendEvents(feed));
}
