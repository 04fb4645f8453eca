import { isContentRefused } from './database-fault.ts';
import { gather } from './gather.ts';
import { Prisma, type PrismaClient } from './generated/prisma/client.ts';
import { maxLimit, type PetsQuery } from './pet-input.ts';
import type { NewPet, Pet } from './pet.ts';

/**
 * What requests ask of the database, those that arrive together by one statement: what a statement costs hardly depends
 * on how many they are.
 */
export interface SharedQueries {
  /** Pets by id ascending, and one more than asked for where there is a next page. */
  findPage(query: PetsQuery): Promise<Pet[]>;
  find(id: bigint): Promise<Pet | null>;
  create(pet: NewPet): Promise<Pet>;
}

interface PageRow extends Pet {
  /** Which of the pages, from 1. */
  place: number;
}

/** So many that the statement's own cost is shared, and so few that PostgreSQL can work on several statements at once. */
const maxPagesTogether = 20;

/** Smaller than any id. */
const beforeAll = -(2n ** 63n);

/** Read from the primary key in its order. */
const ofAll = Prisma.sql`WHERE id > page.after_id ORDER BY id`;

/**
 * Read from the index of status and id in its order. PostgreSQL might else walk along the ids past all pets of another
 * status, expecting that the statuses are mixed: the sold ones of a store are its oldest. A list of two and both columns in
 * the order rule that out; from equality it would conclude that the order is that of the id alone.
 */
const ofStatus = Prisma.sql`
  WHERE status = ANY (ARRAY[page.status, page.status]::"PetStatus"[]) AND id > page.after_id ORDER BY status, id`;

export function createSharedQueries(prisma: PrismaClient): SharedQueries {
  /** PostgreSQL does not know how long a page is, when it plans. That none is longer than the longest, it does. */
  async function findPages(queries: readonly PetsQuery[], pets: Prisma.Sql): Promise<Pet[][]> {
    const afterIds = queries.map(({ afterId }) => afterId ?? beforeAll);
    const statuses = queries.map(({ status }) => status ?? null);
    const sizes = queries.map(({ limit }) => limit + 1);
    const rows = await prisma.$queryRaw<PageRow[]>`
      SELECT page.place::int AS place, pet.id, pet.name, pet.category_id AS "categoryId", pet.status
      FROM unnest(${afterIds}::bigint[], ${statuses}::text[], ${sizes}::int[])
        WITH ORDINALITY AS page (after_id, status, size, place)
      CROSS JOIN LATERAL (
        SELECT * FROM (SELECT * FROM pets ${pets} LIMIT ${maxLimit + 1}) AS longest LIMIT page.size
      ) AS pet
      ORDER BY page.place, pet.id`;
    const pages: Pet[][] = queries.map(() => []);
    for (const { place, id, name, categoryId, status } of rows) {
      pages[place - 1]?.push({ id, name, categoryId, status });
    }
    return pages;
  }

  /** Who asks for the same page gets the same. */
  function findPagesTogether(queries: readonly PetsQuery[], pets: Prisma.Sql): Promise<Pet[]>[] {
    const names = queries.map(({ limit, status, afterId }) => `${limit} ${status} ${afterId}`);
    const wanted = [...new Map(queries.map((query, index) => [names[index], query]))];
    const pages = new Map<string | undefined, Promise<Pet[]>>();
    for (let first = 0; first < wanted.length; first += maxPagesTogether) {
      const part = wanted.slice(first, first + maxPagesTogether);
      const found = findPages(
        part.map(([, query]) => query),
        pets,
      );
      for (const [index, [name]] of part.entries()) {
        pages.set(
          name,
          found.then((all) => all[index] ?? notReturned()),
        );
      }
    }
    return names.map((name) => pages.get(name) ?? notReturned());
  }

  /** The ids are drawn first: SQL promises no order of what RETURNING returns. */
  async function insert(pets: readonly NewPet[]): Promise<Pet[]> {
    const names = pets.map(({ name }) => name);
    const categoryIds = pets.map(({ categoryId }) => categoryId);
    const statuses = pets.map(({ status }) => status);
    const ids = await prisma.$queryRaw<{ id: bigint }[]>`
      WITH pet AS MATERIALIZED (
        SELECT nextval('pets_id_seq') AS id, given.*
        FROM unnest(${names}::text[], ${categoryIds}::bigint[], ${statuses}::text[])
          WITH ORDINALITY AS given (name, category_id, status, place)
      ), stored AS (
        INSERT INTO pets (id, name, category_id, status) SELECT id, name, category_id, status::"PetStatus" FROM pet
      )
      SELECT id FROM pet ORDER BY place`;
    return pets.map((pet, index) => ({ id: ids[index]?.id ?? notReturned(), ...pet }));
  }

  async function insertOne(pet: NewPet): Promise<Pet> {
    const [stored] = await insert([pet]);
    return stored ?? notReturned();
  }

  const findPageOfAll = gather((queries: readonly PetsQuery[]) => findPagesTogether(queries, ofAll));
  const findPageOfStatus = gather((queries: readonly PetsQuery[]) => findPagesTogether(queries, ofStatus));

  return {
    findPage: (query) => (query.status === undefined ? findPageOfAll(query) : findPageOfStatus(query)),
    // Of calls of findUnique in one tick Prisma makes one statement.
    find: gather((ids) => ids.map((id) => prisma.pet.findUnique({ where: { id } }))),
    create: gather((pets) => {
      const all = insert(pets);
      return pets.map((pet, index) =>
        all.then(
          (stored) => stored[index] ?? notReturned(),
          (error: unknown) => {
            // One of them offends, say, against a constraint that an operator has added: no reason to refuse the others.
            if (pets.length > 1 && isContentRefused(error)) return insertOne(pet);
            throw error;
          },
        ),
      );
    }),
  };
}

function notReturned(): never {
  throw new Error('the database returned fewer rows than it was asked for');
}
