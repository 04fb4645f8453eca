import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { PetsError } from './errors.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import type { NewPet, Pet } from './pet.ts';
import type { PetsQuery } from './pet-input.ts';

export interface PetStore {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable where the database does not answer, as all of these do */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** The only file that knows Prisma. */
export function createPetStore(adapter: SqlMigrationAwareDriverAdapterFactory): PetStore {
  const prisma = new PrismaClient({ adapter });

  return {
    list: ({ limit, status, afterId }) =>
      reaching(async () => {
        const pets = await prisma.pet.findMany({
          where: {
            ...(status === undefined ? {} : { status }),
            ...(afterId === undefined ? {} : { id: { gt: afterId } }),
          },
          orderBy: { id: 'asc' },
          // One more than asked for tells whether there is a next page.
          take: limit + 1,
        });
        return { pets: pets.slice(0, limit), more: pets.length > limit };
      }),
    create: (pet) => reaching(() => prisma.pet.create({ data: pet })),
    find: (id) => reaching(async () => (await prisma.pet.findUnique({ where: { id } })) ?? undefined),
    ping: () =>
      reaching(async () => {
        await prisma.$queryRaw`SELECT 1`;
      }),
    close: () => prisma.$disconnect(),
  };
}

/** Prisma's codes for a database that can't be reached, is too slow, or has no connection left. */
const unreachableCodes = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2037']);

/** What the driver and PostgreSQL say when the connection is lost or refused: classes 08, 53 and 57P of SQLSTATE. */
const unreachableDetail =
  /ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|Connection terminated|timeout exceeded when trying to connect|Query read timeout|Server has closed the connection|\b(08\d{3}|53\d{3}|57P0[1-5])\b/;

async function reaching<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    throw new PetsError('service_unavailable', { headers: { 'Retry-After': '1' }, cause: error });
  }
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && unreachableCodes.has(String(error.code))) return true;
  const detail = 'meta' in error ? JSON.stringify(error.meta) : '';
  return unreachableDetail.test(`${error.message} ${detail}`) || isUnreachable(error.cause);
}
