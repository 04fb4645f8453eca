import type { RequestHandler } from 'express';
import { ApiError } from '../api/api-error.ts';
import type { LiveFeed } from './live-feed.ts';

/** Each stream takes a connection and some kilobytes a second. */
const maxStreams = 50;
/** A reader that is this far behind is dropped; it connects again and goes on with the newest state. */
const maxBufferedBytes = 256 * 1024;
/** Shows a proxy or a browser that the connection works while there is nothing to say. */
const heartbeatMs = 15_000;
const retryMs = 1000;

/**
 * Sends the live state as server-sent events, until the console leaves, its session ends (requireSession watches it) or
 * the admin port closes.
 */
export function sendEvents(feed: LiveFeed): RequestHandler {
  let streams = 0;
  return function sendEvents(req, res) {
    if (streams >= maxStreams) {
      throw new ApiError('too_many_requests', {
        message: `There are ${maxStreams} live streams already. Close pages of the console that nobody looks at.`,
        headers: { 'Retry-After': '10' },
      });
    }
    streams += 1;
    // no-transform: no proxy may compress, and so delay, the events.
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store, no-transform' });
    res.set('X-Accel-Buffering', 'no');
    res.flushHeaders();
    req.socket.setNoDelay(true);

    function send(text: string): void {
      if (res.writableLength > maxBufferedBytes) res.destroy();
      else res.write(text);
    }

    send(`retry: ${retryMs}\n\n`);
    const unsubscribe = feed.subscribe({ send });
    const heartbeat = setInterval(() => send(': still here\n\n'), heartbeatMs);
    heartbeat.unref();
    res.once('close', () => {
      streams -= 1;
      clearInterval(heartbeat);
      unsubscribe();
    });
  };
}
