import type {
  SqlDriverAdapter,
  SqlMigrationAwareDriverAdapterFactory,
  SqlQuery,
} from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../pets-service/database/database.ts';
import { formatCursor } from '../../pets-service/pets/pet.ts';
import { migrate } from '../../prisma/migrate.ts';
import { send } from '../support/http/http.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { together } from '../support/kits/together.ts';
import { createDatabase } from '../support/stores/stores.ts';

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  Filter?: string;
  Plans?: PlanNode[];
}

const pets = 100_000;

/*
 * A page that is read in order from an index costs the same for any number of pets. These tests explain the queries that
 * the service really sends.
 */
describe('among 100,000 pets', { tags: ['postgresql'] }, () => {
  const token = serviceToken('tests');
  const queries: SqlQuery[] = [];
  const kit = shared(() =>
    together(async (stack) => {
      const databaseUrl = await createDatabase();
      const { reads: adapter } = await openDatabase({
        DATABASE_URL: databaseUrl,
        DATABASE_POOL_SIZE: 2,
        DATA_DIR: '',
      });
      await migrate(adapter);
      const client = new pg.Client(databaseUrl);
      await client.connect();
      stack.defer(() => client.end());
      // Pending pets are the newest and sold ones are rare: a scan by id would pass many others before it finds them.
      await client.query(`
      INSERT INTO pets (name, category_id, status)
      SELECT 'Pet ' || n, n % 100,
        (CASE WHEN n > ${pets * 0.9} THEN 'pending' WHEN n % 1000 = 0 THEN 'sold' ELSE 'available' END)::"PetStatus"
      FROM generate_series(1, ${pets}) AS n`);
      await client.query('VACUUM ANALYZE pets');
      const { url } = stack.use(await servePets(recordQueries(adapter, queries)));
      return { client, url };
    }),
  );

  /** Query that a listing sends to the database. */
  async function queryOf(parameters: string): Promise<SqlQuery> {
    queries.length = 0;
    const { status, json } = await send(`${kit.url}/v1/pets?limit=20${parameters}`, { key: token });
    expect(status).toBe(200);
    expect(json).toHaveLength(20);
    const [query, ...others] = queries;
    if (query === undefined || others.length > 0) throw new Error(`${queries.length} queries for one page`);
    return query;
  }

  /** Steps of PostgreSQL's plan for a query, each before its inputs. */
  async function planOf({ sql, args }: SqlQuery): Promise<string[]> {
    const { rows } = await kit.client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `EXPLAIN (FORMAT JSON) ${sql}`,
      args,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('EXPLAIN returned no plan');
    return stepsOf(row['QUERY PLAN'][0].Plan);
  }

  const stepsOf = ({ Plans = [], Filter, ...step }: PlanNode): string[] => [
    [step['Node Type'], step['Index Name'], Filter].filter(Boolean).join(': '),
    ...Plans.flatMap(stepsOf),
  ];

  const deep = `&cursor=${formatCursor(BigInt(pets * 0.95))}`;
  const halfway = `&cursor=${formatCursor(BigInt(pets / 2))}`;
  const pages = [
    ['the first page', '', 'pets_pkey'],
    ['a deep page', deep, 'pets_pkey'],
    ['the first page of a rare status', '&status=sold', 'pets_status_id_idx'],
    ['a deep page of a rare status', `&status=sold${halfway}`, 'pets_status_id_idx'],
  ] as const;

  test.each(pages)('%s is read in order from an index only, and would not be without it', async (...page) => {
    const [, parameters, index] = page;
    const query = await queryOf(parameters);
    expect(await planOf(query)).toEqual(['Limit', `Index Scan: ${index}`]);
    await kit.client.query('BEGIN');
    await kit.client.query(
      index === 'pets_pkey' ? 'ALTER TABLE pets DROP CONSTRAINT pets_pkey' : `DROP INDEX ${index}`,
    );
    const without = await planOf(query);
    await kit.client.query('ROLLBACK');
    expect(without.join()).toMatch(/Sort|Seq Scan|pets_pkey: .*status/);
  });

  test('one pet is read from the primary key', async () => {
    queries.length = 0;
    expect((await send(`${kit.url}/v1/pets/4711`, { key: token })).status).toBe(200);
    expect(queries).toHaveLength(1);
    for (const query of queries) expect(await planOf(query)).toEqual(['Limit', 'Index Scan: pets_pkey']);
  });
});

/** Wraps an adapter so that it records every query sent to the database. */
function recordQueries(
  factory: SqlMigrationAwareDriverAdapterFactory,
  queries: SqlQuery[],
): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => recordQueriesOf(await factory.connect(), queries),
    connectToShadowDb: () => factory.connectToShadowDb(),
  };
}

function recordQueriesOf(adapter: SqlDriverAdapter, queries: SqlQuery[]): SqlDriverAdapter {
  return new Proxy(adapter, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'queryRaw' || name === 'executeRaw') queries.push(args[0] as SqlQuery);
        return Reflect.apply(value, target, args);
      };
    },
  });
}
