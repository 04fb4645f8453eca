import type { Server } from 'node:http';
import type { Socket } from 'node:net';

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
