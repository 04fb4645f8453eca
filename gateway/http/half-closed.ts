import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Pipelines } from './pipelines.ts';

/** Time to begin a response for a client that has ended its side. */
const responseTimeoutMs = 1000;

/**
 * Closes the connection of a client that has ended its side and whose response does not begin in time. Some such clients
 * read on (`nc -N`), but most have given up, and the end of their side is all that the gateway sees of that: with a slow
 * upstream, each of their retries would occupy one more of its connections.
 */
export function closeHalfClosed(server: Server, { serving }: Pick<Pipelines, 'serving'>): void {
  server.on('connection', (socket: Socket) => {
    socket.once('end', () => {
      let before = serving(socket);
      const timer = setInterval(() => {
        const current = serving(socket);
        if (current !== undefined && current === before && !current.res.headersSent) socket.destroy();
        before = current;
      }, responseTimeoutMs);
      socket.once('close', () => clearInterval(timer));
    });
  });
}
