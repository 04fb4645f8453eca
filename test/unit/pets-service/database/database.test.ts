import { DriverAdapterError, type MappedError } from '@prisma/driver-adapter-utils';
import { describe, expect, test } from 'vitest';
import { unavailabilityOf, type Unavailability } from '../../../../pets-service/database/database.ts';
import { Prisma } from '../../../../pets-service/generated/prisma/client.ts';

/** An error as Prisma throws it. Only the adapter's error tells the cause: the code of a raw query is always P2010. */
function prismaError(cause: MappedError & { originalCode?: string }, code = 'P2010'): Error {
  const meta = { driverAdapterError: new DriverAdapterError(cause) };
  return new Prisma.PrismaClientKnownRequestError('failed', { code, clientVersion: '', meta });
}

const postgresError = (originalCode: string) => prismaError({ kind: 'GenericJs', id: 0, originalCode });

describe('unavailability of the database, by the error of a query', () => {
  const cases: [name: string, error: unknown, unavailability: Unavailability | undefined][] = [
    ['raw query, connection refused', prismaError({ kind: 'DatabaseNotReachable' }), 'refused'],
    ['raw query, connection reset', prismaError({ kind: 'ConnectionClosed' }), 'lost'],
    ['raw query, no reply', prismaError({ kind: 'SocketTimeout' }), 'lost'],
    ['model query, connection refused', prismaError({ kind: 'DatabaseNotReachable' }, 'P1001'), 'refused'],
    ['cancelled by statement_timeout', postgresError('57014'), 'refused'],
    ['the server shuts down', postgresError('57P01'), 'lost'],
    ['too many connections', postgresError('53300'), 'refused'],
    ['deadlock', postgresError('40P01'), 'refused'],
    ['a wrong password', postgresError('28P01'), 'refused'],
    ['no such database', postgresError('3D000'), 'refused'],
    ['a missing table', postgresError('42P01'), 'refused'],
    ['a missing column', postgresError('42703'), 'refused'],
    ['transaction whose outcome is unknown', postgresError('40003'), 'lost'],
    ['driver, no free connection', new Error('timeout exceeded when trying to connect'), 'refused'],
    ['driver, connection terminated', new Error('Connection terminated unexpectedly'), 'lost'],
    ['operating system', Object.assign(new Error('write'), { code: 'EPIPE' }), 'lost'],
    ['a constraint', postgresError('23514'), undefined],
    ['a permission', postgresError('42501'), undefined],
    ['a programming error', new TypeError('undefined is not a function'), undefined],
    ['a thrown string', 'refused', undefined],
  ];

  test.each(cases)('%s', (_name, error, unavailability) => {
    expect(unavailabilityOf(error)).toBe(unavailability);
  });
});
