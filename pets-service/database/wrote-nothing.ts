import { z } from 'zod';

/**
 * Signs that a failed query wrote nothing: codes of Prisma, kinds of its adapters' errors, SQLSTATEs of PostgreSQL (appendix A
 * of its manual) or their classes of two characters, and messages of the driver `pg`, whose own errors have no code. No
 * connection; cancelled by statement_timeout or lock_timeout; a table or a column is missing; no login, too many connections.
 */
const signs = new Set(
  `P1001,P2021,P2022,P2024,DatabaseNotReachable,ECONNREFUSED,57014,55P03,28,42,53,57P03,
timeout exceeded when trying to connect,Connection terminated due to connection timeout,
Transaction API error: Unable to start a transaction in the given time.`.split(/,\s*/),
);

const adapterError = z.object({
  meta: z.object({
    driverAdapterError: z.object({
      cause: z.object({ kind: z.string(), originalCode: z.string().default('') }),
    }),
  }),
});

/** Whether a query that failed certainly had no effect. Whole messages are compared: one may quote what a client sent. */
export function wroteNothing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { kind = '', originalCode = '' } =
    adapterError.safeParse(error).data?.meta.driverAdapterError.cause ?? {};
  const code = 'code' in error ? String(error.code) : '';
  return [code, kind, originalCode, originalCode.slice(0, 2), error.message].some((sign) => signs.has(sign));
}
