import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPrivateKey } from '../../gateway/upstream/internal-token-keys.ts';
import { issueServiceToken } from '../../gateway/upstream/internal-token.ts';
import { deleteExpiredKeys } from '../../pets-service/database/delete-expired-keys.ts';
import { migrate } from '../../prisma/migrate.ts';
import { parseRaw, send, sendRaw, type Answer } from '../support/http/http.ts';
import {
  gatewayToken,
  petsDatabases,
  servePets,
  serviceToken,
  type PetsDatabase,
  type PetsInstance,
} from '../support/kits/pets-kit.ts';
import { startPetsService } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

describe.each(petsDatabases)('Idempotency-Key on $name', ({ name, missing, open }) => {
  const onDatabase = test.skipIf(missing !== undefined);
  const onPostgres = test.skipIf(missing !== undefined || name !== 'PostgreSQL');
  if (missing !== undefined) console.warn(`tests of idempotency on ${name} are skipped: ${missing}`);
  else if (name !== 'PostgreSQL') {
    console.warn(`tests of idempotency over several connections are skipped on ${name}, which has one`);
  }

  const token = serviceToken('tests');
  let stack: AsyncDisposableStack;
  let database: PetsDatabase;
  let service: PetsInstance;

  beforeAll(async () => {
    if (missing !== undefined) return;
    await using starting = new AsyncDisposableStack();
    database = starting.use(await open());
    await migrate(database.adapter());
    service = starting.use(await servePets(database.adapter()));
    stack = starting.move();
  });

  afterAll(() => stack?.disposeAsync());

  interface Wanted {
    base?: string;
    caller?: string;
    contentType?: string;
  }

  const create = (key: string, body: unknown, { base = service.url, caller = token }: Wanted = {}) =>
    send(`${base}/v1/pets`, {
      method: 'POST',
      key: caller,
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const rawCreate = (header: string) => {
    const body = '{"name":"Refused","categoryId":1}';
    const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close`;
    const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
    return Buffer.from(`${head}\r\n${length}\r\n${header}\r\n\r\n${body}`, 'latin1');
  };
  const pets = async (petName?: string) =>
    Number(
      (
        await database.query(
          `SELECT count(*) FROM pets ${petName === undefined ? '' : `WHERE name = '${petName}'`}`,
        )
      )[0]?.['count'],
    );
  const keys = async (key: string) =>
    Number(
      (await database.query(`SELECT count(*) FROM idempotency_keys WHERE key = '${key}'`))[0]?.['count'],
    );
  const age = (key: string, by: string) =>
    database.query(
      `UPDATE idempotency_keys SET created_at = CURRENT_TIMESTAMP - interval '${by}' WHERE key = '${key}'`,
    );
  const idOf = ({ json }: Answer) => (json as { id: number }).id;
  const seen = ({ status, text, header }: Answer) => ({ status, text, location: header('Location') });
  const anyMessage: unknown = expect.any(String);

  describe('a retry', () => {
    onDatabase('with the same body gets the first answer again, and makes no second pet', async () => {
      const body = { name: 'Retried', categoryId: 7, status: 'pending' };
      const first = await create('"8e03978e-40d5-43dd-bc93-6894a57f9324"', body);
      expect(first.status).toBe(201);
      expect(first.header('Location')).toBe(`/v1/pets/${idOf(first)}`);
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const again = await create('"8e03978e-40d5-43dd-bc93-6894a57f9324"', body);
        expect(seen(again)).toEqual(seen(first));
      }
      expect(await pets('Retried')).toBe(1);
      expect((await send(`${service.url}/v1/pets/${idOf(first)}`, { key: token })).text).toBe(first.text);
    });

    onDatabase('answers the same where the pet has been changed or removed since', async () => {
      const first = await create('changed', { name: 'Changed', categoryId: 1 });
      await database.query(`UPDATE pets SET status = 'sold' WHERE id = ${idOf(first)}`);
      expect(seen(await create('changed', { name: 'Changed', categoryId: 1 }))).toEqual(seen(first));
      await database.query(`DELETE FROM pets WHERE id = ${idOf(first)}`);
      expect(seen(await create('changed', { name: 'Changed', categoryId: 1 }))).toEqual(seen(first));
      expect(await pets('Changed')).toBe(0);
    });

    onDatabase('may write the same content in another way', async () => {
      const first = await create('content', { name: 'Same', categoryId: 10 });
      expect(first.status).toBe(201);
      for (const body of [
        '{"categoryId":10,"name":"Same"}',
        '{ "name" : "S\\u0061me", "categoryId": 1e1, "status": "available" }',
        '{"name":" Same ","categoryId":10.0,"extra":1}',
      ]) {
        expect(seen(await create('content', body))).toEqual(seen(first));
      }
    });

    onDatabase.each([
      ['another name', '{"name":"Other","categoryId":9007199254740993}'],
      ['another category, by one beyond the range of doubles', '{"name":"A","categoryId":9007199254740992}'],
      ['another status', '{"name":"A","categoryId":9007199254740993,"status":"sold"}'],
    ])('with %s is 422, and changes nothing', async (_name, body) => {
      const first = await create('reused', '{"name":"A","categoryId":9007199254740993}');
      expect(first.status).toBe(201);
      const before = await pets();
      const answer = await create('reused', body);
      expect(answer.status).toBe(422);
      expect(answer.json).toEqual({ code: 'idempotency_key_reused', message: anyMessage, status: 422 });
      expect(await pets()).toBe(before);
      expect(seen(await create('reused', '{"name":"A","categoryId":9007199254740993}'))).toEqual(seen(first));
    });

    onDatabase('of a request that was refused for its body is a first request', async () => {
      expect((await create('corrected', { name: 'Corrected' })).status).toBe(400);
      expect((await create('corrected', '{')).status).toBe(400);
      expect(await keys('corrected')).toBe(0);
      expect((await create('corrected', { name: 'Corrected', categoryId: 1 })).status).toBe(201);
    });

    onDatabase(
      'of a create that failed inside the database makes the pet: the key is stored with it or not at all',
      async () => {
        await database.query(`ALTER TABLE pets ADD CONSTRAINT odd CHECK (name <> 'Failing')`);
        expect((await create('failing', { name: 'Failing', categoryId: 1 })).status).toBe(500);
        expect(await keys('failing')).toBe(0);
        await database.query('ALTER TABLE pets DROP CONSTRAINT odd');
        expect((await create('failing', { name: 'Failing', categoryId: 1 })).status).toBe(201);
        expect(await pets('Failing')).toBe(1);
      },
    );

    onDatabase(
      'sent many times at once makes one pet: every answer is that pet, or 409 with Retry-After',
      async () => {
        const answers = await Promise.all(
          Array.from({ length: 50 }, () => create('at-once', { name: 'At once', categoryId: 1 })),
        );
        const made = answers.filter(({ status }) => status === 201);
        const refused = answers.filter(({ status }) => status === 409);
        expect(made.length).toBeGreaterThan(0);
        // The embedded database lets nothing else happen while it works.
        if (name === 'PostgreSQL') expect(refused.length).toBeGreaterThan(0);
        expect(made.length + refused.length).toBe(50);
        expect(new Set(made.map(({ text }) => text)).size).toBe(1);
        for (const answer of refused) {
          expect(answer.json).toEqual({ code: 'idempotency_key_in_use', message: anyMessage, status: 409 });
          expect(answer.header('Retry-After')).toBe('1');
        }
        expect(await pets('At once')).toBe(1);
      },
    );
  });

  describe('a key', () => {
    onDatabase('is the same with quotes and without', async () => {
      const first = await create('"with-or-without"', { name: 'Quoted', categoryId: 1 });
      expect(seen(await create('with-or-without', { name: 'Quoted', categoryId: 1 }))).toEqual(seen(first));
      expect(await keys('with-or-without')).toBe(1);
    });

    onDatabase.each([
      ['of one character', '1', '1'],
      ['of 255 characters', 'k'.repeat(255), 'k'.repeat(255)],
      ['of 255 characters in quotes', `"${'q'.repeat(255)}"`, 'q'.repeat(255)],
      ['with escaped characters', '"a\\"b\\\\c"', 'a"b\\c'],
      ['with a space and a comma in quotes', '"a, b"', 'a, b'],
      ['as Stripe documents it', 'KG5LxwFBepaKHyUD', 'KG5LxwFBepaKHyUD'],
      ['that looks like SQL', "');DROP--", "'');DROP--"],
    ])('%s is taken', async (_name, header, stored) => {
      expect((await create(header, { name: 'Taken', categoryId: 1 })).status).toBe(201);
      expect(await keys(stored)).toBe(1);
    });

    onDatabase.each([
      ['is empty', '', 'must not be empty.'],
      ['is empty in quotes', '""', 'must not be empty.'],
      ['has 256 characters', 'k'.repeat(256), 'must have at most 255 characters.'],
      ['has 256 characters in quotes', `"${'k'.repeat(256)}"`, 'must have at most 255 characters.'],
      ['has no closing quote', '"abc', undefined],
      ['is a quote', '"', undefined],
      ['has a quote in it', 'a"b', undefined],
      ['has a wrong escape', '"a\\b"', undefined],
      ['goes on after the string', '"abc"x', undefined],
      ['has parameters', '"abc";a=1', undefined],
      ['is a list', '"abc", "def"', undefined],
      ['is a list without quotes', 'abc,def', undefined],
      ['has a space', 'abc def', undefined],
      ['has a tab in quotes', '"a\tb"', undefined],
      ['is not ASCII', 'käse', undefined],
      ['is not ASCII in quotes', '"k\u00e4se"', undefined],
    ])('that %s is refused by name, and nothing is stored', async (_name, header, fault) => {
      const before = await pets();
      const raw = await sendRaw(service.port, rawCreate(`Idempotency-Key: ${header}`));
      const message = `Idempotency-Key ${fault ?? 'must be a string in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".'}`;
      expect(parseRaw(raw)).toMatchObject({ status: 400, json: { code: 'invalid_request', message } });
      expect(await pets()).toBe(before);
    });

    onDatabase('that is sent twice is refused, even where both are equal', async () => {
      const raw = await sendRaw(service.port, rawCreate('Idempotency-Key: "a"\r\nidempotency-key: "a"'));
      expect(parseRaw(raw)).toMatchObject({
        status: 400,
        json: { code: 'invalid_request', message: 'Idempotency-Key must be given once only.' },
      });
    });

    onDatabase('belongs to its caller: to the name and to who vouches for it', async () => {
      const ids = [];
      for (const caller of [token, serviceToken('others'), gatewayToken('key_1'), gatewayToken('tests')]) {
        const answer = await create('mine', { name: `Of ${ids.length}`, categoryId: 1 }, { caller });
        expect(answer.status).toBe(201);
        ids.push(idOf(answer));
      }
      expect(new Set(ids).size).toBe(4);
      expect(await keys('mine')).toBe(4);
    });

    onDatabase(
      'is told by no other request than a create, and a create without one leaves no trace',
      async () => {
        const headers = { 'idempotency-key': '""' };
        expect((await send(`${service.url}/v1/pets`, { key: token, headers })).status).toBe(200);
        const rows = () => database.query('SELECT * FROM idempotency_keys');
        const before = (await rows()).length;
        const answer = await send(`${service.url}/v1/pets`, {
          method: 'POST',
          key: token,
          headers: { 'content-type': 'application/json' },
          body: '{"name":"Plain","categoryId":1}',
        });
        expect(answer.status).toBe(201);
        expect(await rows()).toHaveLength(before);
      },
    );
  });

  describe('after 24 hours', () => {
    onDatabase(
      'a key makes a new pet, and then stands for that one; a second before, it does not',
      async () => {
        const body = { name: 'Long ago', categoryId: 1 };
        const first = await create('day', body);
        await age('day', '23 hours 59 minutes 50 seconds');
        expect(seen(await create('day', body))).toEqual(seen(first));
        await age('day', '24 hours');
        const second = await create('day', { name: 'Today', categoryId: 2 });
        expect(second.status).toBe(201);
        expect(idOf(second)).not.toBe(idOf(first));
        expect(seen(await create('day', { name: 'Today', categoryId: 2 }))).toEqual(seen(second));
        expect((await create('day', body)).status).toBe(422);
        expect([await pets('Long ago'), await pets('Today'), await keys('day')]).toEqual([1, 1, 1]);
      },
    );

    const addOldKeys = (prefix: string, count: number) =>
      database.query(
        `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         SELECT 'ops', 'old', '${prefix}' || n, '', n, CURRENT_TIMESTAMP - interval '25 hours'
         FROM generate_series(1, ${count}) AS n`,
      );
    const oldKeys = () => database.query("SELECT * FROM idempotency_keys WHERE subject = 'old'");

    onDatabase('keys are removed, a bounded number at a time, and younger ones stay', async () => {
      await create('young', { name: 'Young', categoryId: 1 });
      await addOldKeys('a', 25);
      expect(await service.store.deleteExpiredKeys(10)).toBe(10);
      expect(await oldKeys()).toHaveLength(15);
      expect(await service.store.deleteExpiredKeys(100)).toBe(15);
      expect(await service.store.deleteExpiredKeys(100)).toBe(0);
      expect(await keys('young')).toBe(1);
    });

    onDatabase('the service removes them until none is left, and looks again', async () => {
      await addOldKeys('b', 25);
      const stopping = new AbortController();
      const log = pino({ level: 'silent' });
      const forgetting = deleteExpiredKeys(
        { store: service.store, log, intervalMs: 50, batch: 10, pauseMs: 1 },
        stopping.signal,
      );
      await expect.poll(oldKeys).toEqual([]);
      await addOldKeys('c', 5);
      await expect.poll(oldKeys).toEqual([]);
      stopping.abort();
      await forgetting;
      await addOldKeys('d', 1);
      await sleep(100);
      expect(await oldKeys()).toHaveLength(1);
    });

    onPostgres('where they cannot be removed, one line says so, and it is tried again', async () => {
      await using broken = await open();
      await using other = await servePets(broken.adapter());
      const lines: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
      const stopping = new AbortController();
      let attempts = 0;
      const store = {
        deleteExpiredKeys(limit: number) {
          attempts += 1;
          return other.store.deleteExpiredKeys(limit);
        },
      };
      // There is no table.
      const forgetting = deleteExpiredKeys({ store, log, intervalMs: 10 }, stopping.signal);
      await expect.poll(() => attempts).toBeGreaterThan(3);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('expired idempotency keys cannot be deleted');
      await migrate(broken.adapter());
      await broken.query(
        `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         VALUES ('ops', 'old', 'late', '', 1, CURRENT_TIMESTAMP - interval '25 hours')`,
      );
      await expect.poll(() => broken.query('SELECT 1 FROM idempotency_keys')).toEqual([]);
      await broken.query('DROP TABLE idempotency_keys');
      await expect.poll(() => lines.length).toBe(2);
      stopping.abort();
      await forgetting;
    });

    onDatabase('they are found on an index', async () => {
      await database.query('SET enable_seqscan = off');
      const plan = await database.query(
        `EXPLAIN SELECT ctid FROM idempotency_keys
         WHERE created_at <= CURRENT_TIMESTAMP - interval '24 hours' ORDER BY created_at LIMIT 10`,
      );
      await database.query('SET enable_seqscan = on');
      expect(JSON.stringify(plan)).toContain('Index Scan using idempotency_keys_created_at_idx');
    });

    onPostgres('instances that remove keys at the same time share the work', async () => {
      await database.query("DELETE FROM idempotency_keys WHERE subject = 'old'");
      await addOldKeys('e', 400);
      await using other = await servePets(database.adapter());
      const removed = await Promise.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 ? other : service).store.deleteExpiredKeys(50)),
      );
      const left = (await oldKeys()).length;
      expect(removed.reduce((sum, count) => sum + count, 0)).toBe(400 - left);
      await service.store.deleteExpiredKeys(1000);
      expect(await oldKeys()).toEqual([]);
    });
  });

  describe('on several connections', () => {
    /** Creates wait in their middle until it is disposed of. */
    async function stopCreates(): Promise<AsyncDisposable> {
      const client = new pg.Client(database.url);
      await client.connect();
      await client.query('SELECT pg_advisory_lock(4711)');
      return { [Symbol.asyncDispose]: () => client.end() };
    }

    beforeAll(async () => {
      if (name !== 'PostgreSQL' || missing !== undefined) return;
      await database.query(
        `CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END'`,
      );
      await database.query(
        'CREATE TRIGGER wait BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION wait_for_test()',
      );
    });

    const waiting = async () =>
      (
        await database.query(
          "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
      ).map(({ pid }) => Number(pid));

    onPostgres(
      'a key whose first request is in flight at another instance is 409; others are not kept waiting',
      async () => {
        await using other = await servePets(database.adapter());
        let first: Promise<Answer>;
        {
          await using _stopped = await stopCreates();
          first = create('in-flight', { name: 'In flight', categoryId: 1 });
          await expect.poll(waiting).toHaveLength(1);
          const retry = await create('in-flight', { name: 'In flight', categoryId: 1 }, { base: other.url });
          expect(retry.status).toBe(409);
          expect(retry.json).toEqual({ code: 'idempotency_key_in_use', message: anyMessage, status: 409 });
          expect(retry.header('Retry-After')).toBe('1');
          // Whether the body is another one can't be known yet.
          expect((await create('in-flight', { name: 'X', categoryId: 2 }, { base: other.url })).status).toBe(
            409,
          );
          // The same key of another caller is another key, and gets as far as the first.
          const others = create(
            'in-flight',
            { name: 'Of others', categoryId: 1 },
            { caller: serviceToken('b') },
          );
          await expect.poll(waiting).toHaveLength(2);
          void others;
        }
        expect((await first).status).toBe(201);
        const retry = await create('in-flight', { name: 'In flight', categoryId: 1 }, { base: other.url });
        expect(seen(retry)).toEqual(seen(await first));
        expect(await pets('In flight')).toBe(1);
      },
    );

    onPostgres('a retry is told 409 where the pool has no connection left, and takes none', async () => {
      await using small = await servePets(database.adapter(1));
      let first: Promise<Answer>;
      {
        await using _stopped = await stopCreates();
        first = create('small-pool', { name: 'Small pool', categoryId: 1 }, { base: small.url });
        await expect.poll(waiting).toHaveLength(1);
        const retry = await create('small-pool', { name: 'Small pool', categoryId: 1 }, { base: small.url });
        expect(retry.status).toBe(409);
      }
      expect((await first).status).toBe(201);
      expect(seen(await create('small-pool', { name: 'Small pool', categoryId: 1 }))).toEqual(
        seen(await first),
      );
    });

    onPostgres('instances that race for the same keys make one pet of each', async () => {
      await using other = await servePets(database.adapter());
      const before = await pets();
      const answers = await Promise.all(
        Array.from({ length: 300 }, async (_, index) => {
          const number = index % 50;
          const base = index % 100 < 50 ? service.url : other.url;
          const answer = await create(`race-${number}`, { name: `Race ${number}`, categoryId: 1 }, { base });
          return { number, answer };
        }),
      );
      for (let number = 0; number < 50; number += 1) {
        const ofKey = answers.filter((one) => one.number === number).map(({ answer }) => answer);
        expect(ofKey.every(({ status }) => status === 201 || status === 409)).toBe(true);
        expect(new Set(ofKey.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1);
      }
      expect(await pets()).toBe(before + 50);
    });

    onPostgres('instances that race for a key of more than 24 hours make one pet of it', async () => {
      await using other = await servePets(database.adapter());
      await Promise.all(
        Array.from({ length: 30 }, (_, number) =>
          create(`old-${number}`, { name: 'Old race', categoryId: 1 }),
        ),
      );
      await database.query(
        "UPDATE idempotency_keys SET created_at = created_at - interval '24 hours' WHERE key LIKE 'old-%'",
      );
      const forgetting = Promise.all([
        service.store.deleteExpiredKeys(10),
        other.store.deleteExpiredKeys(10),
      ]);
      await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          create(
            `old-${index % 30}`,
            { name: 'New race', categoryId: 1 },
            { base: index % 60 < 30 ? service.url : other.url },
          ),
        ),
      );
      await forgetting;
      expect(await pets('New race')).toBe(30);
      const rows = await database.query("SELECT key FROM idempotency_keys WHERE key LIKE 'old-%'");
      expect(rows).toHaveLength(30);
    });

    onPostgres(
      'a database that goes away in the middle: with a key a retry is invited, and makes one pet',
      async () => {
        const plain = () =>
          send(`${service.url}/v1/pets`, {
            method: 'POST',
            key: token,
            headers: { 'content-type': 'application/json' },
            body: '{"name":"Cut off, no key","categoryId":1}',
          });
        let answers: Promise<[Answer, Answer]>;
        {
          await using _stopped = await stopCreates();
          answers = Promise.all([create('cut-off', { name: 'Cut off', categoryId: 1 }), plain()]);
          await expect.poll(waiting).toHaveLength(2);
          for (const pid of await waiting()) await database.query(`SELECT pg_terminate_backend(${pid})`);
          await answers;
        }
        const [keyed, unkeyed] = await answers;
        for (const { status, json } of [keyed, unkeyed]) {
          expect(status).toBe(503);
          expect(json).toMatchObject({ code: 'service_unavailable', status: 503 });
        }
        expect(keyed.header('Retry-After')).toBe('1');
        expect(unkeyed.header('Retry-After')).toBeUndefined();
        expect((await create('cut-off', { name: 'Cut off', categoryId: 1 })).status).toBe(201);
        expect(await pets('Cut off')).toBe(1);
      },
    );

    onPostgres(
      'a service that is killed in the middle of a create leaves one pet or none for the retry, which makes it one',
      async () => {
        await using directory = await temporaryDirectory();
        await database.query(
          `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         VALUES ('ops', 'old', 'at-start', '', 1, CURRENT_TIMESTAMP - interval '25 hours')`,
        );
        await using killed = await startPetsService({
          DATA_DIR: directory.path,
          DATABASE_URL: database.url ?? '',
          DEMO: 'false',
        });
        // It began with what is too old.
        await expect.poll(() => keys('at-start')).toBe(0);
        const caller = issueServiceToken(findPrivateKey(undefined, directory.path), 'tests', 600);
        {
          await using _stopped = await stopCreates();
          const first = create(
            'killed',
            { name: 'Killed', categoryId: 1 },
            { base: killed.url, caller },
          ).catch(() => 'no reply');
          await expect.poll(waiting).toHaveLength(1);
          killed.signal('SIGKILL');
          expect(await first).toBe('no reply');
          // PostgreSQL still works on it.
          expect((await create('killed', { name: 'Killed', categoryId: 1 })).status).toBe(409);
        }
        await expect
          .poll(async () => (await create('killed', { name: 'Killed', categoryId: 1 })).status)
          .toBe(201);
        expect(await pets('Killed')).toBe(1);
      },
    );
  });
});
