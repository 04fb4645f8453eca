import { describe, expect, test } from 'vitest';
import { wroteNothing } from '../../../../pets-service/database/wrote-nothing.ts';

/** An error as Prisma throws it. The code of a raw query is always P2010, so only the adapter's error tells the cause. */
function prismaError(cause: { kind: string; originalCode?: string }, code = 'P2010'): Error {
  return Object.assign(new Error('failed'), { code, meta: { driverAdapterError: { cause } } });
}

const postgresError = (sqlState: string) => prismaError({ kind: 'postgres', originalCode: sqlState });

describe('whether a failed query certainly wrote nothing', () => {
  const cases: [name: string, error: unknown, isCertain: boolean][] = [
    ['raw query, connection refused', prismaError({ kind: 'DatabaseNotReachable' }), true],
    ['raw query, connection reset', prismaError({ kind: 'ConnectionClosed' }), false],
    ['raw query, no reply', prismaError({ kind: 'SocketTimeout' }), false],
    ['model query, connection refused', prismaError({ kind: 'DatabaseNotReachable' }, 'P1001'), true],
    ['cancelled by statement_timeout', postgresError('57014'), true],
    ['the server shuts down', postgresError('57P01'), false],
    ['too many connections', postgresError('53300'), true],
    ['a wrong password', postgresError('28P01'), true],
    ['a missing table', postgresError('42P01'), true],
    ['a missing column', prismaError({ kind: 'ColumnNotFound' }, 'P2022'), true],
    ['transaction whose outcome is unknown', postgresError('40003'), false],
    ['driver, no free connection', new Error('timeout exceeded when trying to connect'), true],
    ['driver, connection terminated', new Error('Connection terminated unexpectedly'), false],
    ['operating system', Object.assign(new Error('write'), { code: 'EPIPE' }), false],
    ['a permission', postgresError('42501'), true],
    ['a programming error', new TypeError('undefined is not a function'), false],
    ['a thrown string', 'refused', false],
  ];

  test.each(cases)('%s', (_name, error, isCertain) => {
    expect(wroteNothing(error)).toBe(isCertain);
  });
});
