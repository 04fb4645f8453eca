import { migrate } from '../../../prisma/migrate.ts';
import { send, type ClientResponse } from '../http/http.ts';
import { servePets, serviceToken, type PetsDatabaseKind } from './pets-kit.ts';
import { together } from './together.ts';

interface Sender {
  /** URL of the instance; by default that of the kit. */
  base?: string;
  /** Token of the caller. */
  caller?: string;
}

/** A pets service on its own database, and creates with an Idempotency-Key. */
export const startIdempotencyKit = (open: PetsDatabaseKind['open']) =>
  together(async (stack) => {
    const database = stack.use(await open());
    await migrate(database.adapter());
    const service = stack.use(await servePets(database.adapter()));
    const token = serviceToken('tests');
    const count = async (from: string) =>
      Number((await database.query(`SELECT count(*) FROM ${from}`))[0]?.['count']);
    return {
      database,
      service,
      token,
      create: (key: string, body: unknown, { base = service.url, caller = token }: Sender = {}) =>
        send(`${base}/v1/pets`, {
          method: 'POST',
          key: caller,
          headers: { 'content-type': 'application/json', 'idempotency-key': key },
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      /** @returns the number of pets, of this name if one is given */
      pets: (name?: string) => count(name === undefined ? 'pets' : `pets WHERE name = '${name}'`),
      /** @returns the number of rows of an idempotency key */
      keys: (key: string) => count(`idempotency_keys WHERE key = '${key}'`),
      /** Sets the age of a key, as an interval of PostgreSQL such as `24 hours`. */
      age: (key: string, by: string) =>
        database.query(
          `UPDATE idempotency_keys SET created_at = CURRENT_TIMESTAMP - interval '${by}' WHERE key = '${key}'`,
        ),
      /** Stores expired keys of the subject `old`. */
      addExpiredKeys: (prefix: string, times: number) =>
        database.query(
          `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         SELECT 'ops', 'old', '${prefix}' || n, '', n, CURRENT_TIMESTAMP - interval '25 hours'
         FROM generate_series(1, ${times}) AS n`,
        ),
      expiredKeys: () => database.query("SELECT * FROM idempotency_keys WHERE subject = 'old'"),
    };
  });

export const idOf = ({ json }: ClientResponse): number => (json as { id: number }).id;

/** The parts of a response to a create that must be equal for a retry. */
export const seen = ({ status, text, header }: ClientResponse) => ({
  status,
  text,
  location: header('Location'),
});
