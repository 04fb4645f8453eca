import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { close, listen } from '../http/listening.ts';

export interface SlowRelay extends AsyncDisposable {
  port: number;
  /** Delay of responses; may be changed between responses. */
  delayMs: number;
}

/** Relays connections to a local server and delays its responses. */
export async function startSlowRelay(targetPort: number): Promise<SlowRelay> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.pipe(target);
    // Also if the delay gets shorter, the bytes of one response stay in order.
    let written: Promise<unknown> = Promise.resolve();
    target.on('data', (chunk) => {
      const due = sleep(relay.delayMs);
      written = written.then(() => due).then(() => client.write(chunk));
    });
  });
  const port = await listen(server);
  const relay: SlowRelay = {
    port,
    delayMs: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await close(server);
    },
  };
  return relay;
}
