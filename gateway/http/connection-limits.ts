import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { peerAddress } from '../journey/request-context.ts';
import { addressGroup } from './address-group.ts';
import type { MakeCounts } from './in-use-counters.ts';

/** Which limit a connection is beyond: that of all together, or that of its address. */
export type ConnectionLimit = 'total' | 'address';

interface ConnectionLimitsOptions {
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** That this process can have, however many the whole gateway may have. */
  maxOwnConnections: number;
  makeCounts: MakeCounts;
  /** Whether an address is that of one of our own proxies, behind which many clients share it. */
  isProxy: (address: string) => boolean;
  /** Told how many connections of this process are open. */
  onOpen: (count: number) => void;
  /** Told of each refusal, and of the address or IPv6 network that the connection was from. */
  onRefused: (limit: ConnectionLimit, group: string) => void;
}

/** How long a connection too many may take to send a request, and to read why it is refused. */
const patienceMs = 1000;
/** More connections than this are not told why: they are closed at once, and so cost next to nothing. */
const maxTold = 100;

/**
 * Counts connections. One too many is not served, but is left open for a moment, so that its request can be answered.
 * @returns the limit that a connection is beyond, if any
 */
export function limitConnections(
  server: Server,
  options: ConnectionLimitsOptions,
): (socket: Socket) => ConnectionLimit | undefined {
  const { maxConnections, maxConnectionsPerAddress, maxOwnConnections, makeCounts } = options;
  const { isProxy, onOpen, onRefused } = options;
  const all = makeCounts('connections', maxConnections);
  const perAddress = makeCounts('connections of an address', maxConnectionsPerAddress);
  const refused = new WeakMap<Socket, ConnectionLimit>();
  let open = 0;
  let told = 0;

  function limitBefore(group: string, address: string): ConnectionLimit | undefined {
    if (all.of('') >= maxConnections || open >= maxOwnConnections) return 'total';
    if (isProxy(address)) return undefined;
    return perAddress.of(group) >= maxConnectionsPerAddress ? 'address' : undefined;
  }

  function admit(socket: Socket, group: string): void {
    onOpen((open += 1));
    all.add('');
    perAddress.add(group);
    socket.once('close', () => {
      onOpen((open -= 1));
      all.remove('');
      perAddress.remove(group);
    });
  }

  function refuse(socket: Socket, limit: ConnectionLimit, group: string): void {
    onRefused(limit, group);
    refused.set(socket, limit);
    if (told >= maxTold) {
      socket.destroy();
      return;
    }
    told += 1;
    const timer = setTimeout(() => socket.destroy(), patienceMs);
    socket.once('close', () => {
      told -= 1;
      clearTimeout(timer);
    });
  }

  server.on('connection', (socket: Socket) => {
    const address = peerAddress({ socket });
    const group = addressGroup(address);
    const limit = limitBefore(group, address);
    if (limit === undefined) admit(socket, group);
    else refuse(socket, limit, group);
  });
  return (socket) => refused.get(socket);
}
