import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createLogThrottle } from '#runtime/log-throttle.ts';
import type { Logger } from 'pino';
import type { HttpLimits } from '../config/config.ts';
import type { Metrics } from '../observability/metrics.ts';
import { addressGroup, peerAddress } from './addresses.ts';
import type { IdleConnections } from './client-connections.ts';

/** The limit that a connection exceeds: that of all connections, or that of its address. */
export type ConnectionLimit = 'total' | 'address';

/** What decides on connections, and who is told of them. */
export interface ConnectionObservers {
  /** Whether an address belongs to a trusted proxy, whose clients share its address. */
  isProxy: (address: string) => boolean;
  /** Called with the number of open connections of this process. */
  onOpenConnections: (count: number) => void;
  /** Called for each idle connection that is closed for a new one. */
  onClosedIdleConnection: () => void;
  /** Called for each refused connection, with its address or IPv6 network. */
  onRefusedConnection: (limit: ConnectionLimit, group: string) => void;
}

interface ConnectionLimitsOptions extends ConnectionObservers {
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Connections that give way to new ones. */
  idle: IdleConnections;
}

/** Refused connections beyond this number are closed at once. They take files that the process may open (`ulimit -n`). */
const maxOpenRefused = 50;
/** Time for a refused connection to send a request and read why it is refused. */
const refusalTimeoutMs = 1000;

/**
 * Counts connections. For one beyond the limit of all, the one that is idle longest is closed: clients that keep many open
 * and hardly use them can't lock others out. If none is idle, or its address has too many, the new one is not served, but
 * stays open for a moment so that its request gets a response.
 * @returns the limit that each refused connection exceeds
 */
export function limitConnections(
  server: Server,
  options: ConnectionLimitsOptions,
): Pick<WeakMap<Socket, ConnectionLimit>, 'get'> {
  const { maxConnections, maxConnectionsPerAddress, idle, isProxy, onOpenConnections } = options;
  const takeSlotOf = createSlots(Infinity, maxConnectionsPerAddress);
  const refused = new WeakMap<Socket, ConnectionLimit>();
  let open = 0;
  let openRefused = 0;

  function admit(socket: Socket, freeSlot: () => void): void {
    onOpenConnections((open += 1));
    idle.add(socket);
    socket.once('close', () => {
      idle.remove(socket);
      onOpenConnections((open -= 1));
      freeSlot();
    });
  }

  function refuse(socket: Socket, limit: ConnectionLimit, group: string): void {
    options.onRefusedConnection(limit, group);
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
    const freeSlot = isProxy(address) ? () => {} : takeSlotOf(group);
    if (freeSlot === undefined) return refuse(socket, 'address', group);
    if (open >= maxConnections) {
      if (!idle.closeLongest()) {
        freeSlot();
        return refuse(socket, 'total', group);
      }
      options.onClosedIdleConnection();
    }
    admit(socket, freeSlot);
  });
  return refused;
}

interface ConnectionReportDependencies {
  log: Logger;
  metrics: Pick<Metrics, 'refusedConnections'>;
  limits: HttpLimits;
}

/** Counts refused connections, and logs the first of a minute that is refused or closed because of a limit. */
export function createConnectionReport({ log, metrics, limits }: ConnectionReportDependencies) {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const isDue = createLogThrottle();
  return {
    onClosedIdleConnection(): void {
      if (!isDue('idle')) return;
      log.warn({ maxConnections }, 'idle connections are closed for new ones: MAX_CONNECTIONS are open');
    },
    onRefusedConnection(limit: ConnectionLimit, address: string): void {
      metrics.refusedConnections.inc({ limit });
      if (!isDue(limit)) return;
      if (limit === 'total') {
        log.warn({ maxConnections }, 'connections are refused: MAX_CONNECTIONS are open');
      } else {
        log.warn(
          { address, maxConnectionsPerAddress },
          'connections of an address are refused: MAX_CONNECTIONS_PER_ADDRESS are open',
        );
      }
    },
  };
}

/**
 * Slots for what lasts, of which each owner can take only some. An owner uses memory only while it has one.
 * @returns a function that takes a slot; that returns the function that frees it, or undefined if there is none
 */
export function createSlots(max: number, maxOfOwner: number): (owner: string) => (() => void) | undefined {
  const perOwner = new Map<string, number>();
  let taken = 0;
  return function takeSlot(owner) {
    const ofOwner = perOwner.get(owner) ?? 0;
    if (taken >= max || ofOwner >= maxOfOwner) return undefined;
    taken += 1;
    perOwner.set(owner, ofOwner + 1);
    return () => {
      taken -= 1;
      const left = (perOwner.get(owner) ?? 0) - 1;
      if (left > 0) perOwner.set(owner, left);
      else perOwner.delete(owner);
    };
  };
}
