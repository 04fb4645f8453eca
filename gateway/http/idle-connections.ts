import type { Socket } from 'node:net';

/** The client of a connection that was used within this time is likely to send its next request. */
const minIdleMs = 1000;

export type IdleConnections = ReturnType<typeof createIdleConnections>;

/** Connections that wait for a request. */
export function createIdleConnections() {
  /** Since when each is idle. A Map keeps the order of insertion, so the first is idle longest. */
  const idleSinceMs = new Map<Socket, number>();
  return {
    /** The connection has no request yet, or no more. */
    add: (socket: Socket) => void idleSinceMs.set(socket, performance.now()),
    /** A request arrived, or the connection was closed. */
    remove: (socket: Socket) => void idleSinceMs.delete(socket),
    /** Closes the connection that is idle longest. @returns false if all were used within the last second */
    closeLongest(): boolean {
      const [longest] = idleSinceMs;
      if (longest === undefined) return false;
      const [socket, sinceMs] = longest;
      if (performance.now() - sinceMs < minIdleMs) return false;
      idleSinceMs.delete(socket);
      socket.destroy();
      return true;
    },
  };
}
