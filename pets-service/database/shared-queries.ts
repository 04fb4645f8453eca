import type { Span } from '@opentelemetry/api';
import { Prisma } from '../generated/prisma/client.ts';
import { maxLimit, type PetsQuery } from '../pets/pet-input.ts';
import type { NewPet, Pet } from '../pets/pet.ts';
import { createBatchLoader } from './batch-loader.ts';
import type { Connections } from './connection-slots.ts';
import type { StatementSpans, StatementSummary } from './statement-spans.ts';

/** With the position, from 1, of the query or pet that the row belongs to. */
type OrdinalPet = Pet & { ordinal: number };

/** Each field by its name: a copy of the rest takes 8 % of the request for a page. */
const petOf = ({ id, name, categoryId, status }: OrdinalPet): Pet => ({ id, name, categoryId, status });

/** Enough to share the cost of a statement, and few enough for PostgreSQL to work on several statements at once. */
const maxPages = 20;

/** Smaller than any id. */
const beforeFirst = -(2n ** 63n);

/** In the order of the primary key. */
const byId = Prisma.sql`WHERE id > page.after_id ORDER BY id`;

/**
 * In the order of the index on status and id. PostgreSQL could otherwise scan the primary key past all pets of other
 * statuses: it expects statuses to be mixed, but a store's oldest pets are sold. A list of two statuses and both columns
 * in the order rule that out; with an equality PostgreSQL would see that the order is that of the id.
 */
const byStatusAndId = Prisma.sql`
  WHERE status = ANY (ARRAY[page.status, page.status]::"PetStatus"[]) AND id > page.after_id ORDER BY status, id`;

/**
 * Queries of requests that arrive together, or wait together for a connection, which share a statement: its cost hardly
 * depends on their number.
 */
export function createSharedQueries(reads: Connections, writes: Connections, spans: StatementSpans) {
  const traced =
    <Input, Output>(summary: StatementSummary, load: (inputs: readonly Input[]) => Promise<Output>) =>
    (inputs: readonly Input[], callers: readonly (Span | undefined)[]) =>
      spans.statement(summary, callers, () => load(inputs));

  /** The inner limit makes PostgreSQL choose the index: when it plans, it does not know the size of a page. */
  async function findPages(queries: readonly PetsQuery[], order: Prisma.Sql): Promise<Pet[][]> {
    const afterIds = queries.map(({ afterId }) => afterId ?? beforeFirst);
    const statuses = queries.map(({ status }) => status ?? null);
    const sizes = queries.map(({ limit }) => limit + 1);
    const rows = await reads.prisma.$queryRaw<OrdinalPet[]>`
      SELECT page.ordinal::int AS ordinal, pet.id, pet.name, pet.category_id AS "categoryId", pet.status
      FROM unnest(${afterIds}::bigint[], ${statuses}::text[], ${sizes}::int[])
        WITH ORDINALITY AS page (after_id, status, size, ordinal)
      CROSS JOIN LATERAL (
        SELECT * FROM (SELECT * FROM pets ${order} LIMIT ${maxLimit + 1}) AS longest LIMIT page.size
      ) AS pet
      ORDER BY page.ordinal, pet.id`;
    const pages: Pet[][] = queries.map(() => []);
    for (const row of rows) pages[row.ordinal - 1]?.push(petOf(row));
    return pages;
  }

  /** Ids are drawn first, and identify the rows: SQL guarantees no order of what RETURNING returns. */
  async function insert(pets: readonly NewPet[]): Promise<(Pet | Error)[]> {
    const names = pets.map(({ name }) => name);
    const categoryIds = pets.map(({ categoryId }) => categoryId);
    const statuses = pets.map(({ status }) => status);
    const rows = await writes.prisma.$queryRaw<OrdinalPet[]>`
      WITH given AS MATERIALIZED (
        SELECT nextval('pets_id_seq') AS id, pet.*
        FROM unnest(${names}::text[], ${categoryIds}::bigint[], ${statuses}::text[])
          WITH ORDINALITY AS pet (name, category_id, status, ordinal)
      ), stored AS (
        INSERT INTO pets (id, name, category_id, status)
        SELECT id, name, category_id, status::"PetStatus" FROM given
        RETURNING *
      )
      SELECT given.ordinal::int AS ordinal, id, stored.name, stored.category_id AS "categoryId", stored.status
      FROM stored JOIN given USING (id)`;
    const stored = new Map(rows.map((row) => [row.ordinal, petOf(row)]));
    return pets.map((_pet, index) => stored.get(index + 1) ?? new Error('the pet was not stored'));
  }

  async function findMany(ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
    const pets = await reads.prisma.pet.findMany({ where: { id: { in: [...ids] } } });
    const byIds = new Map(pets.map((pet) => [pet.id, pet]));
    return ids.map((id) => byIds.get(id));
  }

  const pageLoader = (order: Prisma.Sql) =>
    createBatchLoader<PetsQuery, Pet[]>({
      slots: reads.slots,
      load: traced('SELECT pets', (queries) => findPages(queries, order)),
      maxBatch: maxPages,
      keyOf: ({ limit, status, afterId }) => `${limit} ${status} ${afterId}`,
    });
  const pages = pageLoader(byId);
  const pagesOfStatus = pageLoader(byStatusAndId);

  return {
    /** Pets by id ascending, and one more than the limit if there is a next page. */
    findPage: (query: PetsQuery) => (query.status === undefined ? pages : pagesOfStatus)(query),
    find: createBatchLoader({ slots: reads.slots, load: traced('SELECT pets', findMany) }),
    create: createBatchLoader({ slots: writes.slots, load: traced('INSERT pets', insert) }),
  };
}
