import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Exchange, Pipelines } from './pipelines.ts';

/** Time to begin a response for a client that has ended its side. */
const responseTimeoutMs = 1000;
/** Longer than most round trips. */
const probeMs = 100;

/**
 * Closes the connection of a client that has ended its side and whose response does not begin in time. Some such clients
 * read on (`nc -N`), but most have given up, and the end of their side is all that the gateway sees of that: with a slow
 * upstream, each of their retries would occupy one more of its connections. Interim responses tell them apart: a client
 * that has closed its connection responds to the first one with a reset, so that the second one fails.
 */
export function closeHalfClosed(server: Server, { serving }: Pick<Pipelines, 'serving'>): void {
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => {
      let before = serving(socket);
      probe(before);
      const secondProbe = setTimeout(() => probe(serving(socket)), probeMs);
      const timer = setInterval(() => {
        const current = serving(socket);
        if (current !== undefined && current === before && !current.res.headersSent) socket.destroy();
        before = current;
      }, responseTimeoutMs);
      socket.once('close', () => {
        clearTimeout(secondProbe);
        clearInterval(timer);
      });
    });
  });
}

/** Sends an interim response, which any client of HTTP/1.1 skips (RFC 9110 section 15.2). */
function probe(exchange: Exchange | undefined): void {
  if (exchange === undefined) return;
  const { req, res } = exchange;
  if (req.complete && req.httpVersionMinor > 0 && !res.headersSent) res.writeProcessing();
}
