import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Relays connections to a Redis server, and can disturb them. */
export interface RedisRelay extends AsyncDisposable {
  port: number;
  url: string;
  /** Discards everything that the server sends from now on. */
  discardReplies(): void;
  /** Passes on the next command that contains the text, and closes the connection instead of passing on the reply. */
  loseReplyTo(command: string): void;
  /** Closes all connections, and relays later ones to another port. */
  switchTo(port: number): void;
}

export async function startRedisRelay(targetPort: number): Promise<RedisRelay> {
  const clients = new Set<Socket>();
  let port = targetPort;
  let discarding = false;
  let losing: string | undefined;

  const server = createServer((client) => {
    const target = connect(port, '127.0.0.1');
    clients.add(client);
    client.on('error', () => {});
    target.on('error', () => {});
    client.on('close', () => {
      clients.delete(client);
      target.destroy();
    });
    target.on('close', () => client.destroy());
    let lost = false;
    client.on('data', (chunk) => {
      if (losing !== undefined && chunk.includes(losing)) {
        losing = undefined;
        lost = true;
      }
      target.write(chunk);
    });
    target.on('data', (chunk) => {
      if (lost) client.destroy();
      else if (!discarding) client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closeAll = () => {
    for (const client of clients) client.destroy();
  };
  const ownPort = (server.address() as AddressInfo).port;
  return {
    port: ownPort,
    url: `redis://127.0.0.1:${ownPort}`,
    discardReplies() {
      discarding = true;
    },
    loseReplyTo(command) {
      losing = command;
    },
    switchTo(newPort) {
      port = newPort;
      closeAll();
    },
    async [Symbol.asyncDispose]() {
      closeAll();
      server.close();
      await once(server, 'close');
    },
  };
}
