import { z } from 'zod';

/**
 * What a failed query says of the database.
 * - refused: it can't be reached, is not ready, or gave the query up; nothing was written
 * - lost: it went away in the middle; a write may have happened or not
 * Undefined: the fault is not the database's absence but ours.
 */
export type DatabaseFault = 'refused' | 'lost';

/** Of Prisma, where it recognises the trouble. */
const prismaCodes: Record<string, DatabaseFault> = {
  P1001: 'refused',
  P1002: 'refused',
  P1008: 'lost',
  P1011: 'refused',
  P1017: 'lost',
  // A table or a column is missing, as before the migrations are applied.
  P2021: 'refused',
  P2022: 'refused',
  P2024: 'refused',
  P2037: 'refused',
};

/** Of Prisma's adapters. A raw query's error says no more: its code is that of any raw query that fails. */
const adapterKinds: Record<string, DatabaseFault> = {
  DatabaseNotReachable: 'refused',
  TlsConnectionError: 'refused',
  ConnectionClosed: 'lost',
  SocketTimeout: 'lost',
};

/** Of the operating system. */
const systemCodes: Record<string, DatabaseFault> = {
  EAI_AGAIN: 'refused',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENOTFOUND: 'refused',
  ECONNRESET: 'lost',
  EPIPE: 'lost',
  ETIMEDOUT: 'lost',
};

/** Of the driver `pg`, which gives its own errors no code. */
const driverMessages: Record<string, DatabaseFault> = {
  'Connection terminated due to connection timeout': 'refused',
  'timeout exceeded when trying to connect': 'refused',
  'timeout expired': 'refused',
  'Connection terminated': 'lost',
  'Connection terminated unexpectedly': 'lost',
  'Client has encountered a connection error and is not queryable': 'lost',
  'Query read timeout': 'lost',
};

/** SQLSTATE of PostgreSQL (appendix A of its manual), by code or by class of two characters. */
const sqlStates: Record<string, DatabaseFault> = {
  // Statements that were cancelled by statement_timeout or lock_timeout, and rolled back.
  '57014': 'refused',
  '55P03': 'refused',
  // Rolled back for the sake of another transaction.
  '40': 'refused',
  '40003': 'lost',
  // It does not let us in, or has no such database.
  '28': 'refused',
  '3D000': 'refused',
  // A table or a column is missing, as before the migrations are applied.
  '42P01': 'refused',
  '42703': 'refused',
  // A server that only reads, as a standby before it is promoted.
  '25006': 'refused',
  // Too many connections, out of memory, disk full.
  '53': 'refused',
  // Not accepting connections yet.
  '57P03': 'refused',
  '57': 'lost',
  '08': 'lost',
};

const prismaError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/** Judges by codes alone: a message may quote what a client sent. */
export function databaseFault(error: unknown): DatabaseFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  const { kind, sqlState } = adapterFault(error);
  return (
    lookUp(prismaCodes, code) ??
    lookUp(adapterKinds, kind) ??
    lookUp(systemCodes, code) ??
    lookUp(sqlStates, sqlState) ??
    lookUp(sqlStates, sqlState.slice(0, 2)) ??
    lookUp(driverMessages, error.message)
  );
}

/** Whether PostgreSQL refused the statement as such, say, for its content. Nothing of it was written. */
export function isStatementRefused(error: unknown): boolean {
  return adapterFault(error).sqlState !== '' && databaseFault(error) === undefined;
}

/** The database is there, but is not what this version needs. The message says what is missing. */
export class SchemaFault extends Error {
  override name = 'SchemaFault';
}

/** Whether the database lacks a table or a column, or does not let us use it (SQLSTATE class 42). */
export function isSchemaFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isMissing = 'code' in error && (error.code === 'P2021' || error.code === 'P2022');
  return isMissing || error instanceof SchemaFault || adapterFault(error).sqlState.startsWith('42');
}

/** What the adapter below Prisma says; nothing where the error is not of it. */
function adapterFault(error: unknown): { kind: string; sqlState: string } {
  const cause = prismaError.safeParse(error).data?.meta.driverAdapterError.cause;
  return { kind: cause?.kind ?? '', sqlState: cause?.originalCode ?? '' };
}

function lookUp(table: Record<string, DatabaseFault>, key: string): DatabaseFault | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
