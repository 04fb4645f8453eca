import { migrate } from '../../../prisma/migrate.ts';
import { send, type ClientResponse } from '../http/http.ts';
import {
  servePets,
  serviceToken,
  type PetsDatabase,
  type PetsDatabaseKind,
  type PetsInstance,
} from './pets-kit.ts';

interface Sender {
  /** URL of the instance; by default that of the kit. */
  base?: string;
  /** Token of the caller. */
  caller?: string;
}

/** A pets service on its own database, and creates with an Idempotency-Key. */
export interface IdempotencyKit extends AsyncDisposable {
  database: PetsDatabase;
  service: PetsInstance;
  token: string;
  create(key: string, body: unknown, sender?: Sender): Promise<ClientResponse>;
  /** @returns the number of pets, of this name if one is given */
  pets(name?: string): Promise<number>;
  /** @returns the number of rows of an idempotency key */
  keys(key: string): Promise<number>;
  /** Sets the age of a key, as an interval of PostgreSQL such as `24 hours`. */
  age(key: string, by: string): Promise<unknown>;
  /** Stores expired keys of the subject `old`. */
  addExpiredKeys(prefix: string, count: number): Promise<unknown>;
  expiredKeys(): Promise<unknown[]>;
}

export async function startIdempotencyKit(open: PetsDatabaseKind['open']): Promise<IdempotencyKit> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await open());
  await migrate(database.adapter());
  const service = stack.use(await servePets(database.adapter()));
  const token = serviceToken('tests');
  const disposables = stack.move();
  const count = async (from: string) =>
    Number((await database.query(`SELECT count(*) FROM ${from}`))[0]?.['count']);
  return {
    database,
    service,
    token,
    create: (key, body, { base = service.url, caller = token } = {}) =>
      send(`${base}/v1/pets`, {
        method: 'POST',
        key: caller,
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    pets: (name) => count(name === undefined ? 'pets' : `pets WHERE name = '${name}'`),
    keys: (key) => count(`idempotency_keys WHERE key = '${key}'`),
    age: (key, by) =>
      database.query(
        `UPDATE idempotency_keys SET created_at = CURRENT_TIMESTAMP - interval '${by}' WHERE key = '${key}'`,
      ),
    addExpiredKeys: (prefix, times) =>
      database.query(
        `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         SELECT 'ops', 'old', '${prefix}' || n, '', n, CURRENT_TIMESTAMP - interval '25 hours'
         FROM generate_series(1, ${times}) AS n`,
      ),
    expiredKeys: () => database.query("SELECT * FROM idempotency_keys WHERE subject = 'old'"),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

export const idOf = ({ json }: ClientResponse): number => (json as { id: number }).id;

/** The parts of a response to a create that must be equal for a retry. */
export const seen = ({ status, text, header }: ClientResponse) => ({
  status,
  text,
  location: header('Location'),
});
