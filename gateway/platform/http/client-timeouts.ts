import type { IncomingMessage, Server } from 'node:http';
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

/**
 * Closes connections of clients that do not read their responses. The limit is for the time that bytes wait without a
 * break, and not for progress: a client that reads a few bytes at a time could keep its response for hours. One interval
 * checks all connections, which costs a request nothing.
 */
export function closeSlowReaders(server: Server, timeoutMs: number): void {
  const waitingSince = new Map<Socket, number | undefined>();

  server.on('connection', (socket: Socket) => {
    waitingSince.set(socket, undefined);
    socket.on('drain', () => waitingSince.set(socket, undefined));
    socket.once('close', () => waitingSince.delete(socket));
  });

  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const [socket, since] of waitingSince) {
        if (socket.writableLength === 0) {
          if (since !== undefined) waitingSince.set(socket, undefined);
        } else if (since === undefined) {
          waitingSince.set(socket, now);
        } else if (now - since >= timeoutMs) {
          socket.destroy();
        }
      }
    },
    Math.min(1000, timeoutMs),
  );
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

/** Of a body, in each timeout. With the default one 2 kB a second: a slower client would occupy its connection for hours. */
const minBytes = 64 * 1024;

/**
 * Watches how a request's body arrives. Node has a timeout for a request as a whole, which would end large uploads.
 * @param onSlow called once, if neither the body is complete nor enough of it has arrived within a timeout
 */
export function watchBody(req: IncomingMessage, timeoutMs: number, onSlow: () => void): void {
  const { socket } = req;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    // A service that does not read has a timeout of its own.
    const isReading = !req.isPaused() && !socket.isPaused();
    if (isReading && !req.complete && socket.bytesRead - before < minBytes) {
      clearInterval(timer);
      onSlow();
    }
    before = socket.bytesRead;
  }, timeoutMs);
  req.once('close', () => clearInterval(timer));
}
