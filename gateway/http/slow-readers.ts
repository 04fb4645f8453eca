import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Cuts off clients that do not read their answers. What counts is how long bytes have been waiting without a break,
 * not whether any move: a client that reads a few at a time would otherwise hold on to its answer for hours.
 * Connections are looked at in turn rather than timed one by one, which costs a request nothing.
 */
export function cutOffSlowReaders(server: Server, timeoutMs: number): void {
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
