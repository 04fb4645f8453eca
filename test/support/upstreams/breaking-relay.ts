import { connect, type Socket } from 'node:net';
import { serveConnections } from './relay.ts';

/** Point of a request at which a connection is broken. */
export type Break = 'before request' | 'in request' | 'after request' | 'before response' | 'in response';

export type BreakingRelay = Awaited<ReturnType<typeof startBreakingRelay>>;

interface BreakingRelayOptions {
  port: number;
  /** Probability from 0 to 1 that a chunk, in either direction, breaks its connection. */
  odds: number;
  /** Returns numbers from 0 to 1, like Math.random. */
  random: () => number;
}

/** Relays bytes to a local port and back, and breaks both ends of connections at random. */
export async function startBreakingRelay({ port, odds, random }: BreakingRelayOptions) {
  /** Number of connections that it has broken at each point. */
  const broken: Record<Break, number> = {
    'before request': 0,
    'in request': 0,
    'after request': 0,
    'before response': 0,
    'in response': 0,
  };
  const pick = <B extends Break>(among: readonly B[]): B | undefined =>
    random() < odds ? among[Math.floor(random() * among.length)] : undefined;
  const partOf = (chunk: Buffer) => chunk.subarray(0, 1 + Math.floor(random() * (chunk.length - 1)));

  const serve = (client: Socket) => {
    const target = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let responseLost = false;
    const end = (at?: Break) => {
      if (at !== undefined) broken[at] += 1;
      client.destroy();
      target.destroy();
    };
    for (const socket of [client, target]) {
      socket.setNoDelay(true);
      socket.on('error', () => end());
      socket.on('close', () => end());
    }
    client.on('data', (chunk: Buffer) => {
      const at = pick(['before request', 'in request', 'after request']);
      switch (at) {
        case undefined:
          target.write(chunk);
          break;
        case 'before request':
          end(at);
          break;
        case 'in request':
          target.write(partOf(chunk), () => end());
          broken[at] += 1;
          break;
        case 'after request':
          // The request is delivered, but the connection breaks before the response.
          responseLost = true;
          client.pause();
          target.write(chunk, () => setTimeout(() => end(), random() * 5));
          broken[at] += 1;
      }
    });
    target.on('data', (chunk: Buffer) => {
      if (responseLost) return;
      const at = pick(['before response', 'in response']);
      if (at === 'before response') end(at);
      else if (at === 'in response') {
        responseLost = true;
        client.write(partOf(chunk), () => end());
        broken[at] += 1;
      } else if (!client.destroyed) client.write(chunk);
    });
    client.on('end', () => target.end());
    target.on('end', () => client.end());
  };
  return { ...(await serveConnections(serve, { allowHalfOpen: true })), broken };
}
