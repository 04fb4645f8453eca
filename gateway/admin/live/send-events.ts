import type { Request, Response } from 'express';
import { ApiError } from '../api/api-error.ts';
import type { LiveFeed } from './live-feed.ts';

/** Each stream takes a connection and some kilobytes a second. */
const maxStreams = 50;
/** Pages that nobody looks at have none. */
const maxStreamsOfSession = 10;
/** A reader that is this far behind is dropped; it connects again and goes on with the newest state. */
const maxBufferedBytes = 256 * 1024;
/** Shows a proxy or a browser that the connection works while there is nothing to say. */
const heartbeatMs = 15_000;
const retryMs = 1000;

/**
 * Creates the handler that sends the live state as server-sent events, until the console leaves, its session ends
 * (requireSession watches it) or the admin port closes.
 * @param sessionIdOf id of the session of a request
 */
export function sendEvents(
  feed: LiveFeed,
  sessionIdOf: (req: Request) => string,
): (req: Request, res: Response) => void {
  /** Session ids of the open streams. */
  const streams: string[] = [];
  return function sendEvents(req, res) {
    // The reader may have left while its session was looked up; then no 'close' follows.
    if (res.closed) return;
    const session = sessionIdOf(req);
    const ofSession = streams.filter((id) => id === session).length;
    if (streams.length >= maxStreams || ofSession >= maxStreamsOfSession) {
      throw new ApiError('too_many_requests', {
        message: `There are ${streams.length} live streams already, ${ofSession} of this session. Close pages of the console that nobody looks at.`,
        headers: { 'Retry-After': '10' },
      });
    }
    streams.push(session);
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
      streams.splice(streams.indexOf(session), 1);
      clearInterval(heartbeat);
      unsubscribe();
    });
  };
}
