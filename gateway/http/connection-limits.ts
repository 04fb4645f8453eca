import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from './address-group.ts';
import type { CreateCounter } from './in-use-counters.ts';
import { peerAddress } from './peer-address.ts';

/** The limit that a connection exceeds: that of all connections, or that of its address. */
export type ConnectionLimit = 'total' | 'address';

interface ConnectionLimitsOptions {
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Limit of this process, whatever the whole gateway may have. */
  maxOwnConnections: number;
  createCounter: CreateCounter;
  /** Whether an address belongs to a trusted proxy, whose clients share its address. */
  isProxy: (address: string) => boolean;
  /** Called with the number of open connections of this process. */
  onOpen: (count: number) => void;
  /** Called for each refusal, with the address or IPv6 network of the connection. */
  onRefused: (limit: ConnectionLimit, group: string) => void;
}

/** Time for a refused connection to send a request and read why it is refused. */
const refusalTimeoutMs = 1000;
/** Refused connections beyond this number are closed at once, and so cost next to nothing. */
const maxOpenRefused = 100;

/**
 * Counts connections. One beyond a limit is not served, but stays open for a moment so that its request gets a response.
 * @returns a function that tells the limit that a connection exceeds
 */
export function limitConnections(
  server: Server,
  options: ConnectionLimitsOptions,
): (socket: Socket) => ConnectionLimit | undefined {
  const { maxConnections, maxConnectionsPerAddress, maxOwnConnections, createCounter } = options;
  const { isProxy, onOpen, onRefused } = options;
  const all = createCounter('connections', maxConnections);
  const perAddress = createCounter('connections of an address', maxConnectionsPerAddress);
  const refused = new WeakMap<Socket, ConnectionLimit>();
  let open = 0;
  let openRefused = 0;

  function exceededLimit(group: string, address: string): ConnectionLimit | undefined {
    if (all.count('') >= maxConnections || open >= maxOwnConnections) return 'total';
    if (isProxy(address)) return undefined;
    return perAddress.count(group) >= maxConnectionsPerAddress ? 'address' : undefined;
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
    if (openRefused >= maxOpenRefused) {
      socket.destroy();
      return;
    }
    openRefused += 1;
    const timer = setTimeout(() => socket.destroy(), refusalTimeoutMs);
    socket.once('close', () => {
      openRefused -= 1;
      clearTimeout(timer);
    });
  }

  server.on('connection', (socket: Socket) => {
    const address = peerAddress({ socket });
    const group = addressGroup(address);
    const limit = exceededLimit(group, address);
    if (limit === undefined) admit(socket, group);
    else refuse(socket, limit, group);
  });
  return (socket) => refused.get(socket);
}
