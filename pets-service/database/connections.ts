import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { PrismaClient } from '../generated/prisma/client.ts';
import { ConnectionSlots } from './connection-slots.ts';

/** A number of connections to the database. */
export interface ConnectionPool {
  adapter: SqlMigrationAwareDriverAdapterFactory;
  size: number;
}

/** Reads have connections of their own, so that creates that wait for a lock do not block them. */
export interface DatabasePools {
  reads: ConnectionPool;
  /** The same object as `reads` if there is one connection only. */
  writes: ConnectionPool;
}

/** Prisma on a pool. Every statement of a request is started through the slots. */
export interface Connections {
  prisma: PrismaClient;
  slots: ConnectionSlots;
}

/** What a pool does at the moment. */
export interface PoolState {
  /** `reads` or `writes`; `reads` for both if there is one connection only. */
  name: string;
  /** Maximum number of connections. */
  size: number;
  /** Statements that are under way. */
  running: number;
  /** Statements that wait for a connection. */
  waiting: number;
}

export function openConnections(
  { adapter, size }: ConnectionPool,
  onStatement?: (seconds: number) => void,
): Connections {
  return {
    // With other formats Prisma captures the stack at each call, to show code in its error messages.
    prisma: new PrismaClient({ adapter, errorFormat: 'minimal' }),
    slots: new ConnectionSlots(size, onStatement),
  };
}
