import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import { databaseFault } from './database-fault.ts';
import { PetsError } from './errors.ts';
import { PrismaClient } from './generated/prisma/client.ts';
import { gather } from './gather.ts';
import { createKeyedCreate, type KeyedCreate } from './keyed-create.ts';
import type { NewPet, Pet } from './pet.ts';
import type { PetsQuery } from './pet-input.ts';

export interface PetStore extends KeyedCreate {
  /** Pets by id ascending; `more` says whether there are further ones. */
  list(query: PetsQuery): Promise<{ pets: Pet[]; more: boolean }>;
  create(pet: NewPet): Promise<Pet>;
  find(id: bigint): Promise<Pet | undefined>;
  /** @throws PetsError service_unavailable where the database does not answer, as all of these do */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** This file and keyed-create.ts, which is a part of it, are the only ones that know Prisma. */
export function createPetStore(adapter: SqlMigrationAwareDriverAdapterFactory): PetStore {
  // Of other formats Prisma takes down the stack at each call, to show the code there in the message of an error.
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' });
  const keyed = createKeyedCreate(prisma);

  /**
   * Read from an index in its order, whatever the page. With a status, PostgreSQL might else walk along the ids past all
   * pets of another one, expecting that the statuses are mixed: the sold ones of a store are its oldest. A list of two
   * and both columns in the order rule that out; a list of one would be taken for equality, and the order for that of
   * the id alone.
   */
  function findPage({ limit, status, afterId }: PetsQuery): Promise<Pet[]> {
    return prisma.pet.findMany({
      where: {
        ...(status === undefined ? {} : { status: { in: [status, status] } }),
        ...(afterId === undefined ? {} : { id: { gt: afterId } }),
      },
      orderBy: status === undefined ? { id: 'asc' } : [{ status: 'asc' }, { id: 'asc' }],
      // One more than asked for tells whether there is a next page.
      take: limit + 1,
    });
  }

  /** Who asks for the same page gets it from the same query. */
  const list = gather((queries: readonly PetsQuery[]) => {
    const pages = new Map<string, Promise<Pet[]>>();
    return queries.map((query) => {
      const name = `${query.limit} ${query.status} ${query.afterId}`;
      const page = pages.get(name) ?? findPage(query);
      pages.set(name, page);
      return page;
    });
  });

  /** Of calls of findUnique in one tick Prisma makes one query. */
  const find = gather((ids: readonly bigint[]) => ids.map((id) => prisma.pet.findUnique({ where: { id } })));

  /** A statement for each, or one for all of them, which stores all or none and says so to each. */
  const create = gather((pets: readonly NewPet[]) => {
    if (pets.length < manyCreates) return pets.map((data) => prisma.pet.create({ data }));
    const created = prisma.pet.createManyAndReturn({ data: [...pets] }).then((rows) => inOrderOf(pets, rows));
    return pets.map(async (_pet, index) => (await created)[index] ?? notReturned());
  });

  return {
    list: (query) =>
      reading(async () => {
        const pets = await list(query);
        return { pets: pets.slice(0, query.limit), more: pets.length > query.limit };
      }),
    create: (pet) => writing(() => create(pet), outcomeUnknown),
    createOnce: (pet, key) => writing(() => keyed.createOnce(pet, key), repeatable),
    forgetOldKeys: (limit) => reading(() => keyed.forgetOldKeys(limit)),
    find: (id) => reading(async () => (await find(id)) ?? undefined),
    ping: () =>
      reading(async () => {
        await prisma.$queryRaw`SELECT 1`;
      }),
    close: () => prisma.$disconnect(),
  };
}

/**
 * From so many pets on, one statement costs less than a statement for each, although Prisma compiles what it does for
 * createManyAndReturn anew each time.
 */
const manyCreates = 8;

/**
 * To each pet the row that it has become, by its content: SQL promises no order of what RETURNING returns. Rows of the
 * same content are as good as each other.
 */
function inOrderOf(pets: readonly NewPet[], rows: readonly Pet[]): Pet[] {
  const left = [...rows];
  return pets.map(({ name, categoryId, status }) => {
    const index = left.findIndex(
      (row) => row.name === name && row.categoryId === categoryId && row.status === status,
    );
    const [row] = index === -1 ? [] : left.splice(index, 1);
    return row ?? notReturned();
  });
}

function notReturned(): never {
  throw new Error('a pet that was stored was not returned');
}

const retryShortly = { 'Retry-After': '1' };

/** Runs a query; a database that is away becomes service_unavailable. */
async function reading<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (databaseFault(error) === undefined) throw error;
    throw new PetsError('service_unavailable', { headers: retryShortly, cause: error });
  }
}

/** What is said of a write that may have happened or not: nobody is invited to repeat it. */
const outcomeUnknown = {
  message: 'The database went away in the middle: the pet may have been stored or not.',
};

/** The same of a write with a key, which can be repeated without harm. */
const repeatable = {
  message: 'The database went away in the middle. Repeat the request with the same Idempotency-Key.',
  headers: retryShortly,
};

/** As `reading`, but a database that went away in the middle is told apart, by what `lost` says. */
async function writing<T>(
  query: () => Promise<T>,
  lost: { message: string; headers?: Record<string, string> },
): Promise<T> {
  try {
    return await query();
  } catch (error) {
    switch (databaseFault(error)) {
      case undefined:
        throw error;
      case 'refused':
        throw new PetsError('service_unavailable', { headers: retryShortly, cause: error });
      case 'lost':
        throw new PetsError('service_unavailable', { ...lost, cause: error });
    }
  }
}
