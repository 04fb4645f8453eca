import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import { PrismaPg } from '@prisma/adapter-pg';
import type { SqlMigrationAwareDriverAdapterFactory } from '@prisma/driver-adapter-utils';
import pg from 'pg';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { pino } from 'pino';
import { createAuthorize, issueServiceToken } from '../../../gateway/upstream/internal-token.ts';
import { createPetsService } from '../../../pets-service/app.ts';
import type { DatabasePools } from '../../../pets-service/database/database.ts';
import { createPetStore, type PetStore } from '../../../pets-service/database/pet-store.ts';
import { createVerifyToken } from '../../../pets-service/internal-token.ts';
import { createMetrics } from '../../../pets-service/observability.ts';
import { createDatabase } from '../stores/stores.ts';

/** An empty database for the pets service, which a test can query. */
export interface PetsDatabase extends AsyncDisposable {
  /** Undefined for the embedded database. */
  url: string | undefined;
  /** Adapter for another instance. The embedded database has one connection, which all share. */
  adapter(poolSize?: number): SqlMigrationAwareDriverAdapterFactory;
  query(sql: string): Promise<Record<string, unknown>[]>;
}

export interface PetsDatabaseKind {
  name: string;
  /** Tags for tests that use it (requirements.ts). */
  tags: string[];
  open(): Promise<PetsDatabase>;
}

const pglite: PetsDatabaseKind = {
  name: 'PGlite',
  tags: [],
  async open() {
    const client = await PGlite.create();
    return {
      url: undefined,
      adapter: () => new PrismaPGlite(client),
      query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
      [Symbol.asyncDispose]: () => client.close(),
    };
  },
};

export const postgres: PetsDatabaseKind = {
  name: 'PostgreSQL',
  tags: ['postgresql'],
  async open() {
    const url = await createDatabase();
    const client = new pg.Client(url);
    await client.connect();
    return {
      url,
      // With a timeout, so that a blocked test ends.
      adapter: (poolSize = 10) =>
        new PrismaPg({ connectionString: url, max: poolSize, statement_timeout: 5000 }),
      query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
      [Symbol.asyncDispose]: () => client.end(),
    };
  },
};

export const petsDatabases = [pglite, postgres];

export interface PetsInstance extends AsyncDisposable {
  store: PetStore;
  url: string;
  port: number;
}

const { privateKey, publicKey: ownPublicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const authorize = createAuthorize(privateKey, Date.now, 'pets-service');

/** A token that the instances of this kit accept unless they have another public key. */
export const serviceToken = (service: string) => issueServiceToken(privateKey, service, 600, 'pets-service');

/** A token like those of the gateway. */
export const gatewayToken = (id: string) =>
  authorize({ id: `key_of_${id}`, customerId: id, plan: 'free' }).slice('Bearer '.length);

/** Pools for a store whose reads and writes share an adapter. */
export function onePool(adapter: SqlMigrationAwareDriverAdapterFactory): DatabasePools {
  return { reads: adapter, writes: adapter };
}

/** Runs the pets service in this process, so that a test can set its clock and access its store. */
export async function servePets(
  database: SqlMigrationAwareDriverAdapterFactory | DatabasePools,
  { publicKey = ownPublicKey, now = Date.now }: { publicKey?: KeyObject; now?: () => number } = {},
): Promise<PetsInstance> {
  const log = pino({ level: 'silent' });
  const metrics = createMetrics();
  const store = createPetStore('reads' in database ? database : onePool(database), log);
  const app = createPetsService({
    store,
    metrics,
    verifyToken: createVerifyToken(() => [publicKey], Date.now),
    isDraining: () => false,
    log,
    now,
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    store,
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await store.close();
    },
  };
}
