import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { addressGroup } from './address-group.ts';
import type { IdleConnections } from './idle-connections.ts';
import { createInUseCounter } from './in-use-counters.ts';
import { peerAddress } from './peer-address.ts';

/** The limit that a connection exceeds: that of all connections, or that of its address. */
export type ConnectionLimit = 'total' | 'address';

interface ConnectionLimitsOptions {
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Refused connections beyond this number are closed at once, and so cost next to nothing. */
  maxOpenRefused: number;
  /** Connections that give way to new ones. */
  idle: IdleConnections;
  /** Whether an address belongs to a trusted proxy, whose clients share its address. */
  isProxy: (address: string) => boolean;
  /** Called with the number of open connections. */
  onOpen: (count: number) => void;
  /** Called for each connection that had to give way. */
  onClosedIdle: () => void;
  /** Called for each refusal, with the address or IPv6 network of the connection. */
  onRefused: (limit: ConnectionLimit, group: string) => void;
}

/** Time for a refused connection to send a request and read why it is refused. */
const refusalTimeoutMs = 1000;

/**
 * Counts connections. For one beyond the limit of all, the one that is idle longest is closed: clients that keep many open
 * and hardly use them can't lock others out. If none is idle, or its address has too many, the new one is not served, but
 * stays open for a moment so that its request gets a response.
 * @returns a function that tells the limit that a connection exceeds
 */
export function limitConnections(
  server: Server,
  options: ConnectionLimitsOptions,
): (socket: Socket) => ConnectionLimit | undefined {
  const { maxConnections, maxConnectionsPerAddress, maxOpenRefused, idle, isProxy } = options;
  const { onOpen, onClosedIdle, onRefused } = options;
  const perAddress = createInUseCounter();
  const refused = new WeakMap<Socket, ConnectionLimit>();
  let open = 0;
  let openRefused = 0;

  function exceededLimit(group: string, address: string): ConnectionLimit | undefined {
    if (!isProxy(address) && perAddress.count(group) >= maxConnectionsPerAddress) return 'address';
    if (open < maxConnections) return undefined;
    if (!idle.closeLongest()) return 'total';
    onClosedIdle();
    return undefined;
  }

  function admit(socket: Socket, group: string): void {
    onOpen((open += 1));
    perAddress.add(group);
    idle.add(socket);
    socket.once('close', () => {
      idle.remove(socket);
      onOpen((open -= 1));
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
