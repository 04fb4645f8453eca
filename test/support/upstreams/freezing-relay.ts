import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface FreezingRelay extends AsyncDisposable {
  url: string;
  /** Local port that new connections are relayed to. */
  targetPort: number;
  /** Connections that clients have open. */
  open(): number;
  /**
   * Relays nothing more on the connections that are open now, in either direction, and closes none of them: as if the
   * other host had vanished. New connections work.
   */
  freeze(): void;
}

/** Relays connections to a local server. */
export async function startFreezingRelay(): Promise<FreezingRelay> {
  const pairs = new Map<Socket, Socket>();
  const frozen = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(relay.targetPort, '127.0.0.1');
    pairs.set(client, target);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      from.on('data', (chunk) => {
        if (!frozen.has(client)) to.write(chunk);
      });
      from.on('error', () => {});
    }
    client.on('close', () => {
      pairs.delete(client);
      target.destroy();
    });
    target.on('close', () => {
      if (!frozen.has(client)) client.destroy();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const relay: FreezingRelay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targetPort: 0,
    open: () => pairs.size,
    freeze() {
      for (const client of pairs.keys()) frozen.add(client);
    },
    async [Symbol.asyncDispose]() {
      for (const client of pairs.keys()) client.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return relay;
}
