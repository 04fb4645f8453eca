import { describe, expect, test } from 'vitest';
import {
  isStatementRefused,
  unavailabilityOf,
  type Unavailability,
} from '../../../../pets-service/database/database-error.ts';

/** As Prisma throws it: of a raw query the code says nothing, and the adapter's error is all there is. */
function prismaError(cause: { kind: string; originalCode?: string }, code = 'P2010'): Error {
  return Object.assign(new Error('failed'), { code, meta: { driverAdapterError: { cause } } });
}

const ofPostgres = (sqlState: string) => prismaError({ kind: 'postgres', originalCode: sqlState });

describe('what a failed query says of the database', () => {
  const faults: [what: string, error: unknown, fault: Unavailability | undefined][] = [
    ['raw query, nobody listens', prismaError({ kind: 'DatabaseNotReachable' }), 'refused'],
    ['raw query, connection reset', prismaError({ kind: 'ConnectionClosed' }), 'lost'],
    ['raw query, no reply', prismaError({ kind: 'SocketTimeout' }), 'lost'],
    ['model query, nobody listens', prismaError({ kind: 'DatabaseNotReachable' }, 'P1001'), 'refused'],
    ['cancelled by statement_timeout', ofPostgres('57014'), 'refused'],
    ['the server is shut down', ofPostgres('57P01'), 'lost'],
    ['too many connections', ofPostgres('53300'), 'refused'],
    ['deadlock', ofPostgres('40P01'), 'refused'],
    ['a wrong password', ofPostgres('28P01'), 'refused'],
    ['no such database', ofPostgres('3D000'), 'refused'],
    ['a table that is missing', ofPostgres('42P01'), 'refused'],
    ['a column that is missing', prismaError({ kind: 'ColumnNotFound' }, 'P2022'), 'refused'],
    ['transaction whose outcome is unknown', ofPostgres('40003'), 'lost'],
    ['driver, no free connection', new Error('timeout exceeded when trying to connect'), 'refused'],
    ['driver, in the middle', new Error('Connection terminated unexpectedly'), 'lost'],
    ['operating system', Object.assign(new Error('write'), { code: 'EPIPE' }), 'lost'],
    ['a constraint', ofPostgres('23514'), undefined],
    ['a permission', ofPostgres('42501'), undefined],
    ['an error of ours', new TypeError('undefined is not a function'), undefined],
    ['no error at all', 'refused', undefined],
  ];

  test.each(faults)('%s', (_what, error, fault) => {
    expect(unavailabilityOf(error)).toBe(fault);
  });
});

describe('only what PostgreSQL refused, and nothing else, is safe to be tried in another way', () => {
  const errors: [what: string, error: unknown, refused: boolean][] = [
    ['a constraint', ofPostgres('23514'), true],
    ['a value out of range', ofPostgres('22003'), true],
    ['a permission', ofPostgres('42501'), true],
    ['a connection that is lost', prismaError({ kind: 'ConnectionClosed' }), false],
    ['a server that is shut down', ofPostgres('57P01'), false],
    ['a statement that takes too long', ofPostgres('57014'), false],
    ['rows that Prisma cannot read', prismaError({ kind: 'UnsupportedNativeDataType' }), false],
    ['an error of ours', new TypeError('undefined is not a function'), false],
  ];

  test.each(errors)('%s', (_what, error, refused) => {
    expect(isStatementRefused(error)).toBe(refused);
  });
});
