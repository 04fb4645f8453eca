import type { Server, ServerResponse } from 'node:http';

export interface Drain {
  readonly draining: boolean;
  /** Counts a response as in flight until it is finished or cut off. */
  track(res: ServerResponse): void;
  /**
   * Takes no new connections, closes each one after the response it is busy with, and resolves when none is left
   * or the signal is given, which cuts off the rest.
   */
  drain(server: Server, cutOff: AbortSignal): Promise<void>;
}

/** Lets requests in flight finish, so that a restart loses none. */
export function createDrain(): Drain {
  const inFlight = new Set<ServerResponse>();
  let drained: Server | undefined;

  return {
    get draining() {
      return drained !== undefined;
    },
    track(res) {
      inFlight.add(res);
      if (drained !== undefined) res.shouldKeepAlive = false;
      res.once('close', () => {
        inFlight.delete(res);
        // Of an answer that had begun before the drain, the client still thinks the connection is kept.
        if (drained !== undefined) setImmediate(() => drained?.closeIdleConnections());
      });
    },
    async drain(server, cutOff) {
      drained = server;
      for (const res of inFlight) if (!res.headersSent) res.shouldKeepAlive = false;
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      cutOff.addEventListener('abort', () => server.closeAllConnections());
      if (cutOff.aborted) server.closeAllConnections();
      await closed;
    },
  };
}
