import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Delivery } from './history.ts';

/** What receives the events of all customers, and does not always do what it should. */
export interface EventReceiver extends AsyncDisposable {
  url: string;
  /** Takes what has come since it was taken last. */
  takeDeliveries(): Delivery[];
  /** Responds with 503, or else takes each event and closes the connection. @returns a function that ends it */
  disturb(manner: 'fail' | 'cut'): () => void;
}

export async function startEventReceiver(): Promise<EventReceiver> {
  const deliveries: Delivery[] = [];
  let manner: 'fail' | 'cut' | undefined;
  const server = createServer((req, res) => {
    const startMs = Date.now();
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const status = manner === undefined ? 204 : manner === 'fail' ? 503 : 0;
      const body = Buffer.concat(chunks).toString();
      deliveries.push({
        id: String(req.headers['webhook-id']),
        body,
        status,
        startMs,
        endMs: Date.now() + 1,
      });
      if (status === 0) req.socket.destroy();
      else res.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    takeDeliveries: () => deliveries.splice(0),
    disturb(next) {
      manner = next;
      return () => {
        manner = undefined;
      };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
