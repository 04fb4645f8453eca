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

export function openConnections({ adapter, size }: ConnectionPool): Connections {
  return {
    // With other formats Prisma captures the stack at each call, to show code in its error messages.
    prisma: new PrismaClient({ adapter, errorFormat: 'minimal' }),
    slots: new ConnectionSlots(size),
  };
}
