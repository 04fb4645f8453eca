import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Drain {
  readonly draining: boolean;
  /**
   * Answers with Connection: close for a while, so that clients and load balancers go elsewhere by themselves; then
   * takes no new connections, and closes each one after the response it is busy with. Resolves when none is left.
   * @param delayMs length of that while
   * @param cutOff ends what is left at once
   */
  drain(delayMs: number, cutOff: AbortSignal): Promise<void>;
}

/** Lets requests in flight finish, so that a restart loses none. */
export function createDrain(server: Server): Drain {
  /** Requests that are not answered yet, of each connection in their order. */
  const inFlight = new Map<Socket, ServerResponse[]>();
  let draining = false;
  let closing = false;

  server.on('connection', (socket: Socket) => {
    inFlight.set(socket, []);
    socket.once('close', () => inFlight.delete(socket));
  });

  function track({ socket }: IncomingMessage, res: ServerResponse): void {
    const ofSocket = inFlight.get(socket);
    ofSocket?.push(res);
    if (draining) res.shouldKeepAlive = false;
    res.on('close', () => {
      ofSocket?.splice(ofSocket.indexOf(res), 1);
      if (closing && ofSocket?.length === 0) socket.destroySoon();
    });
  }
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, track);

  /** Not by closeAllConnections, which forgets a connection on which CONNECT was sent. */
  function cutAll(): void {
    for (const socket of inFlight.keys()) socket.destroy();
  }

  return {
    get draining() {
      return draining;
    },
    async drain(delayMs, cutOff) {
      draining = true;
      for (const res of [...inFlight.values()].flat()) {
        if (!res.headersSent) res.shouldKeepAlive = false;
      }
      await sleep(delayMs, undefined, { signal: cutOff }).catch(() => {});
      closing = true;
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      // Idle connections, and those on which nothing was ever sent: Node does not count the latter as idle.
      for (const [socket, responses] of inFlight) if (responses.length === 0) socket.destroy();
      cutOff.addEventListener('abort', cutAll);
      if (cutOff.aborted) cutAll();
      await closed;
    },
  };
}
