import { connect, createServer, type Socket } from 'node:net';
import { close, listen } from '../http/listening.ts';

/** Serves connections on a free port. Disposal closes it with all connections. */
export async function serveConnections(serve: (client: Socket) => void, options = { allowHalfOpen: false }) {
  const clients = new Set<Socket>();
  const server = createServer(options, (client) => {
    clients.add(client);
    client.on('error', () => {}).on('close', () => clients.delete(client));
    serve(client);
  });
  const port = await listen(server);
  const closeAll = () => {
    for (const client of clients) client.destroy();
  };
  return {
    port,
    closeAll,
    async [Symbol.asyncDispose]() {
      const closed = close(server);
      closeAll();
      await closed;
    },
  };
}

/** Relays connections to a local port, either end of which ends the other one. */
export const startRelay = (targetPort: () => number, pass: (client: Socket, target: Socket) => void) =>
  serveConnections((client) => {
    const target = connect(targetPort(), '127.0.0.1');
    target.on('error', () => {}).on('close', () => client.destroy());
    client.on('close', () => target.destroy());
    pass(client, target);
  });
