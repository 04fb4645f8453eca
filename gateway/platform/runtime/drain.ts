import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Shutdown } from './lifecycle.ts';

/** Time for the first request of a connection that was just accepted to arrive. */
const arrivalMs = 1000;

/**
 * Lets requests in flight finish, so that a restart loses none.
 * @param onClosing called when no new connections are taken any more
 */
export function createDrain(server: Server, onClosing = (): void => {}) {
  /** Unanswered requests of each connection. Arrays and not Sets: V8 keeps entries alive in old tables of a Set. */
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

  /** Not closeAllConnections, which does not know connections on which CONNECT was sent. */
  function forceClose(): void {
    for (const socket of inFlight.keys()) socket.destroy();
  }

  function closeIdle(isIncluded: (socket: Socket) => boolean): void {
    for (const [socket, responses] of inFlight) {
      if (responses.length === 0 && isIncluded(socket)) socket.destroy();
    }
  }

  return {
    get draining(): boolean {
      return draining;
    },
    /** Responses of a connection that are not complete, in the order of their requests. */
    inFlight: (socket: Socket): readonly ServerResponse[] => inFlight.get(socket) ?? [],
    /**
     * Sends Connection: close with every response during the delay, so that clients and load balancers move to another
     * instance. Then takes no new connections, and closes each connection after the response it is busy with. Resolves
     * when no connection is left.
     */
    async drain({ delayMs, force }: Shutdown): Promise<void> {
      draining = true;
      for (const res of [...inFlight.values()].flat()) {
        if (!res.headersSent) res.shouldKeepAlive = false;
      }
      await sleep(delayMs, undefined, { signal: force }).catch(() => {});
      closing = true;
      onClosing();
      const closed = new Promise((resolve) => {
        // The method of HTTP servers would also close connections whose first request is on its way.
        NetServer.prototype.close.call(server, resolve);
      });
      closeIdle(({ bytesRead }) => bytesRead > 0);
      setTimeout(() => closeIdle(() => true), arrivalMs).unref();
      force.addEventListener('abort', forceClose);
      if (force.aborted) forceClose();
      await closed;
    },
  };
}
