import { Prisma, type PrismaClient } from '../generated/prisma/client.ts';
import { maxLimit, type PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { gather } from './batch.ts';
import { databaseFault, isStatementRefused } from './database-error.ts';

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

interface PlacedPet extends Pet {
  /** Which of those that were asked for it is, or belongs to, from 1. */
  place: number;
}

/** So many that the statement's own cost is shared, and so few that PostgreSQL can work on several statements at once. */
const maxPagesTogether = 20;

/** Smaller than any id that is given out. */
const beforeFirst = -(2n ** 63n);

/** In the order of the primary key. */
const alongIds = Prisma.sql`WHERE id > page.after_id ORDER BY id`;

/**
 * In the order of the index of status and id. PostgreSQL might else walk along the ids past all pets of another status,
 * expecting that the statuses are mixed: the sold ones of a store are its oldest. A list of two and both columns in the
 * order rule that out; from equality it would conclude that the order is that of the id alone.
 */
const alongStatusAndIds = Prisma.sql`
  WHERE status = ANY (ARRAY[page.status, page.status]::"PetStatus"[]) AND id > page.after_id ORDER BY status, id`;

export function createSharedQueries(prisma: PrismaClient): SharedQueries {
  /** The inner limit makes PostgreSQL choose the index: when it plans, it does not know the size of a page. */
  async function findPages(queries: readonly PetsQuery[], walk: Prisma.Sql): Promise<Pet[][]> {
    const afterIds = queries.map(({ afterId }) => afterId ?? beforeFirst);
    const statuses = queries.map(({ status }) => status ?? null);
    const sizes = queries.map(({ limit }) => limit + 1);
    const rows = await prisma.$queryRaw<PlacedPet[]>`
      SELECT page.place::int AS place, pet.id, pet.name, pet.category_id AS "categoryId", pet.status
      FROM unnest(${afterIds}::bigint[], ${statuses}::text[], ${sizes}::int[])
        WITH ORDINALITY AS page (after_id, status, size, place)
      CROSS JOIN LATERAL (
        SELECT * FROM (SELECT * FROM pets ${walk} LIMIT ${maxLimit + 1}) AS longest LIMIT page.size
      ) AS pet
      ORDER BY page.place, pet.id`;
    const pages: Pet[][] = queries.map(() => []);
    for (const row of rows) (pages[row.place - 1] ?? unexpectedRows()).push(petOf(row));
    return pages;
  }

  /** Who asks for the same page gets the same. */
  function findPagesTogether(queries: readonly PetsQuery[], walk: Prisma.Sql): Promise<Pet[]>[] {
    const names = queries.map(({ limit, status, afterId }) => `${limit} ${status} ${afterId}`);
    const wanted = [...new Map(queries.map((query, index) => [names[index], query]))];
    const pages = new Map<string | undefined, Promise<Pet[]>>();
    for (let first = 0; first < wanted.length; first += maxPagesTogether) {
      const part = wanted.slice(first, first + maxPagesTogether);
      const found = findPages(
        part.map(([, query]) => query),
        walk,
      );
      for (const [index, [name]] of part.entries()) {
        pages.set(
          name,
          found.then((all) => all[index] ?? unexpectedRows()),
        );
      }
    }
    return names.map((name) => pages.get(name) ?? unexpectedRows());
  }

  /** The ids are drawn first, and tell which row is whose: SQL promises no order of what RETURNING returns. */
  async function insert(pets: readonly NewPet[]): Promise<(Pet | undefined)[]> {
    const names = pets.map(({ name }) => name);
    const categoryIds = pets.map(({ categoryId }) => categoryId);
    const statuses = pets.map(({ status }) => status);
    const rows = await prisma.$queryRaw<PlacedPet[]>`
      WITH given AS MATERIALIZED (
        SELECT nextval('pets_id_seq') AS id, pet.*
        FROM unnest(${names}::text[], ${categoryIds}::bigint[], ${statuses}::text[])
          WITH ORDINALITY AS pet (name, category_id, status, place)
      ), stored AS (
        INSERT INTO pets (id, name, category_id, status)
        SELECT id, name, category_id, status::"PetStatus" FROM given
        RETURNING *
      )
      SELECT given.place::int AS place, id, stored.name, stored.category_id AS "categoryId", stored.status
      FROM stored JOIN given USING (id)`;
    const stored = new Map(rows.map((row) => [row.place, petOf(row)]));
    return pets.map((_pet, index) => stored.get(index + 1));
  }

  /** All by one statement. Where PostgreSQL refuses it, the halves are tried: one pet that it won't have harms no other. */
  function createTogether(pets: readonly NewPet[]): Promise<Pet>[] {
    const created = insert(pets).catch((error: unknown) => {
      if (pets.length === 1 || !isStatementRefused(error)) throw error;
      const middle = Math.ceil(pets.length / 2);
      return [...createTogether(pets.slice(0, middle)), ...createTogether(pets.slice(middle))];
    });
    return pets.map(async (_pet, index) => (await (await created)[index]) ?? unexpectedRows());
  }

  /** Of calls of findUnique in one tick Prisma makes one statement. A pet that can't be read harms no other of it. */
  async function find(id: bigint): Promise<Pet | null> {
    try {
      return await prisma.pet.findUnique({ where: { id } });
    } catch (error) {
      if (databaseFault(error) !== undefined) throw error;
      return prisma.pet.findFirst({ where: { id } });
    }
  }

  const findPageAlong = (walk: Prisma.Sql) =>
    gather((queries: readonly PetsQuery[]) => findPagesTogether(queries, walk));
  const findPageOfAll = findPageAlong(alongIds);
  const findPageOfStatus = findPageAlong(alongStatusAndIds);

  return {
    findPage: (query) => (query.status === undefined ? findPageOfAll(query) : findPageOfStatus(query)),
    find: gather((ids) => ids.map(find)),
    create: gather(createTogether),
  };
}

function petOf({ id, name, categoryId, status }: PlacedPet): Pet {
  return { id, name, categoryId, status };
}

function unexpectedRows(): never {
  throw new Error('the database returned other rows than those that it was asked for');
}
