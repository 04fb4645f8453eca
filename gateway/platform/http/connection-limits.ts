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

export interface ConnectionDependencies {
  /** Whether an address belongs to a trusted proxy, whose clients share its address. */
  isProxy: (address: string) => boolean;
  limits: HttpLimits;
  metrics: Pick<Metrics, 'connections' | 'refusedConnections'>;
  log: Logger;
}

/** Refused connections beyond this number are closed at once. They take files that the process may open (`ulimit -n`). */
const maxOpenRefused = 50;
/** Time for a refused connection to send a request and read why it is refused. */
const refusalTimeoutMs = 1000;

/**
 * Counts connections. For one beyond the limit of all, the one that is idle longest is closed: clients that keep many open
 * and hardly use them can't lock others out. If none is idle, or its address has too many, the new one is not served, but
 * stays open for a moment so that its request gets a response. Of what is refused or closed because of a limit, the first of a
 * minute is logged.
 * @param idle connections that give way to new ones
 * @returns the limit that each refused connection exceeds
 */
export function limitConnections(
  server: Server,
  idle: IdleConnections,
  { isProxy, limits, metrics, log }: ConnectionDependencies,
): Pick<WeakMap<Socket, ConnectionLimit>, 'get'> {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const isLogDue = createLogThrottle();
  const takeSlotOf = createSlots(Infinity, maxConnectionsPerAddress);
  const refused = new WeakMap<Socket, ConnectionLimit>();
  let open = 0;
  let openRefused = 0;

  function admit(socket: Socket, freeSlot: () => void): void {
    metrics.connections.set((open += 1));
    idle.add(socket);
    socket.once('close', () => {
      idle.remove(socket);
      metrics.connections.set((open -= 1));
      freeSlot();
    });
  }

  function refuse(socket: Socket, limit: ConnectionLimit, address: string): void {
    metrics.refusedConnections.inc({ limit });
    if (isLogDue(limit)) {
      if (limit === 'total')
        log.warn({ maxConnections }, 'connections are refused: MAX_CONNECTIONS are open');
      else {
        log.warn(
          { address, maxConnectionsPerAddress },
          'connections of an address are refused: MAX_CONNECTIONS_PER_ADDRESS are open',
        );
      }
    }
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
    if (typeof freeSlot === 'string') return refuse(socket, 'address', group);
    if (open >= maxConnections) {
      if (!idle.closeLongest()) {
        freeSlot();
        return refuse(socket, 'total', group);
      }
      if (isLogDue('idle'))
        log.warn({ maxConnections }, 'idle connections are closed for new ones: MAX_CONNECTIONS are open');
    }
    admit(socket, freeSlot);
  });
  return refused;
}

/**
 * Slots for what lasts, of which each owner can take only some. An owner uses memory only while it has one.
 * @returns a function that takes a slot; that returns the function that frees it, or the limit that leaves none
 */
export function createSlots(
  max: number,
  maxOfOwner: number,
): (owner: string) => (() => void) | 'total' | 'owner' {
  const perOwner = new Map<string, number>();
  let taken = 0;
  return function takeSlot(owner) {
    const ofOwner = perOwner.get(owner) ?? 0;
    if (taken >= max) return 'total';
    if (ofOwner >= maxOfOwner) return 'owner';
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
