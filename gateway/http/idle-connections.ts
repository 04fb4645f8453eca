import type { Socket } from 'node:net';

/** Connections that wait for a request. */
export interface IdleConnections {
  /** The connection has no request yet, or no more. */
  add(socket: Socket): void;
  /** A request arrived, or the connection was closed. */
  remove(socket: Socket): void;
  /** Closes the connection that is idle longest. @returns false if all were used within the last second */
  closeLongest(): boolean;
}

/** The client of a connection that was used within this time is likely to send its next request. */
const minIdleMs = 1000;

export function createIdleConnections(): IdleConnections {
  /** Since when each is idle. A Map keeps the order of insertion, so the first is idle longest. */
  const idleSinceMs = new Map<Socket, number>();
  return {
    add: (socket) => void idleSinceMs.set(socket, performance.now()),
    remove: (socket) => void idleSinceMs.delete(socket),
    closeLongest() {
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
