import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Lets a server listen, on a free port of 127.0.0.1 unless told otherwise. @returns the port */
export async function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Resolves when the server has no connection any more. */
export const close = (server: Server) =>
  new Promise<unknown>((resolve) => {
    server.close(resolve);
  });

/** Lets a server listen on a free port of 127.0.0.1. Disposal closes it with all connections. */
export async function listening(server: HttpServer): Promise<Disposable & { url: string }> {
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
