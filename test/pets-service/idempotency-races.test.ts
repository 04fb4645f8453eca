import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson, type ClientResponse } from '../support/http/http.ts';
import { seen, startIdempotencyKit } from '../support/kits/idempotency-kit.ts';
import { postgres, servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

describe('Idempotency-Key over several connections', { tags: ['postgresql'] }, () => {
  const anyMessage: unknown = expect.any(String);
  const kit = shared(() => startIdempotencyKit(postgres.open));

  test('instances that delete expired keys concurrently share the work', async () => {
    await kit.database.query("DELETE FROM idempotency_keys WHERE subject = 'old'");
    await kit.addExpiredKeys('e', 400);
    await using other = await servePets(kit.database.adapter());
    const deleted = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 ? other : kit.service).store.deleteExpiredKeys(50)),
    );
    const remaining = (await kit.expiredKeys()).length;
    expect(deleted.reduce((sum, count) => sum + count, 0)).toBe(400 - remaining);
    await kit.service.store.deleteExpiredKeys(1000);
    expect(await kit.expiredKeys()).toEqual([]);
  });

  describe('creates', () => {
    /** Blocks creates at their insert until it is disposed. */
    async function blockCreates(): Promise<AsyncDisposable> {
      const client = new pg.Client(kit.database.url);
      await client.connect();
      await client.query('SELECT pg_advisory_lock(4711)');
      return { [Symbol.asyncDispose]: () => client.end() };
    }

    beforeAll(async () => {
      await kit.database.query(
        `CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
         'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END'`,
      );
      await kit.database.query(
        'CREATE TRIGGER wait BEFORE INSERT ON pets FOR EACH ROW EXECUTE FUNCTION wait_for_test()',
      );
    });

    const blockedPids = async () =>
      (
        await kit.database.query(
          "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
      ).map(({ pid }) => Number(pid));

    test('a key whose first request is in flight at another instance gets 409, and other keys do not wait', async () => {
      await using other = await servePets(kit.database.adapter());
      const create = (sender?: { base: string }) =>
        kit.create('in-flight', { name: 'In flight', categoryId: 1 }, sender);
      let first: Promise<ClientResponse>;
      {
        await using _blocked = await blockCreates();
        first = create();
        await expect.poll(blockedPids).toHaveLength(1);
        const retry = await create({ base: other.url });
        expect(retry.status).toBe(409);
        expect(retry.json).toEqual({ code: 'idempotency_key_in_use', message: anyMessage, status: 409 });
        expect(retry.header('Retry-After')).toBe('1');
        // The body of the first request is not stored yet, so it cannot be compared.
        expect(
          (await kit.create('in-flight', { name: 'X', categoryId: 2 }, { base: other.url })).status,
        ).toBe(409);
        // Keys belong to their caller, so this create proceeds to the insert.
        void kit.create('in-flight', { name: 'Of others', categoryId: 1 }, { caller: serviceToken('b') });
        await expect.poll(blockedPids).toHaveLength(2);
      }
      expect((await first).status).toBe(201);
      const retry = await create({ base: other.url });
      expect(seen(retry)).toEqual(seen(await first));
      expect(await kit.pets('In flight')).toBe(1);
    });

    test('instances that race for an expired key create one pet', async () => {
      await using other = await servePets(kit.database.adapter());
      await Promise.all(
        Array.from({ length: 30 }, (_, number) =>
          kit.create(`old-${number}`, { name: 'Old race', categoryId: 1 }),
        ),
      );
      await kit.database.query(
        "UPDATE idempotency_keys SET created_at = created_at - interval '24 hours' WHERE key LIKE 'old-%'",
      );
      const deletion = Promise.all([
        kit.service.store.deleteExpiredKeys(10),
        other.store.deleteExpiredKeys(10),
      ]);
      await Promise.all(
        Array.from({ length: 120 }, (_, index) =>
          kit.create(
            `old-${index % 30}`,
            { name: 'New race', categoryId: 1 },
            { base: index % 60 < 30 ? kit.service.url : other.url },
          ),
        ),
      );
      await deletion;
      expect(await kit.pets('New race')).toBe(30);
      const rows = await kit.database.query("SELECT key FROM idempotency_keys WHERE key LIKE 'old-%'");
      expect(rows).toHaveLength(30);
    });

    test('if connections are lost during a create, only a request with a key gets Retry-After, and its retry creates one pet', async () => {
      const body = { name: 'Cut off', categoryId: 1 };
      const plain = () => postJson(`${kit.service.url}/v1/pets`, kit.token, { ...body, name: 'No key' });
      let responses: Promise<[ClientResponse, ClientResponse]>;
      {
        await using _blocked = await blockCreates();
        responses = Promise.all([kit.create('cut-off', body), plain()]);
        await expect.poll(blockedPids).toHaveLength(2);
        for (const pid of await blockedPids())
          await kit.database.query(`SELECT pg_terminate_backend(${pid})`);
        await responses;
      }
      const [withKey, withoutKey] = await responses;
      for (const { status, json } of [withKey, withoutKey]) {
        expect(status).toBe(503);
        expect(json).toMatchObject({ code: 'service_unavailable', status: 503 });
      }
      expect(withKey.header('Retry-After')).toBe('1');
      expect(withoutKey.header('Retry-After')).toBeUndefined();
      expect((await kit.create('cut-off', body)).status).toBe(201);
      expect(await kit.pets('Cut off')).toBe(1);
    });

    test('after a service is killed during a create, the retry leaves exactly one pet', async () => {
      await using directory = await temporaryDirectory();
      await kit.database.query(
        `INSERT INTO idempotency_keys (issuer, subject, key, fingerprint, pet_id, created_at)
         VALUES ('ops', 'old', 'at-start', '', 1, CURRENT_TIMESTAMP - interval '25 hours')`,
      );
      await using killed = await startPetsService({
        DATA_DIR: directory.path,
        DATABASE_URL: kit.database.url ?? '',
        DEMO: 'false',
      });
      // The service deletes expired keys at startup.
      await expect.poll(() => kit.keys('at-start')).toBe(0);
      const ownKey = loadPrivateKey(undefined, directory.path);
      const sender = { base: killed.url, caller: issueServiceToken(ownKey, 'tests', 600, 'pets-service') };
      const create = (by?: typeof sender) => kit.create('killed', { name: 'Killed', categoryId: 1 }, by);
      {
        await using _blocked = await blockCreates();
        const first = create(sender).catch(() => 'no reply');
        await expect.poll(blockedPids).toHaveLength(1);
        killed.signal('SIGKILL');
        expect(await first).toBe('no reply');
        // PostgreSQL still executes the create.
        expect((await create()).status).toBe(409);
      }
      await expect.poll(async () => (await create()).status).toBe(201);
      expect(await kit.pets('Killed')).toBe(1);
    });
  });
});
