import { describe, expect, test } from 'vitest';
import { parseRaw, postJson, send, sendRaw } from '../support/http/http.ts';
import { idOf, seen, startIdempotencyKit } from '../support/kits/idempotency-kit.ts';
import { gatewayToken, petsDatabases, serviceToken } from '../support/kits/pets-kit.ts';
import { shared } from '../support/kits/shared.ts';

for (const { name, open, tags } of petsDatabases)
  describe(`Idempotency-Key on ${name}`, { tags }, () => {
    const kit = shared(() => startIdempotencyKit(open));

    const anyMessage: unknown = expect.any(String);

    describe('a retry', () => {
      test('with the same body gets the first response again, and creates no second pet', async () => {
        const create = () =>
          kit.create('"8e03978e-40d5"', { name: 'Retried', categoryId: 7, status: 'pending' });
        const first = await create();
        expect(first).toMatchObject({ status: 201, headers: { location: `/v1/pets/${idOf(first)}` } });
        expect(first.header('Idempotency-Replayed')).toBeUndefined();
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const again = await create();
          expect(seen(again)).toEqual(seen(first));
          expect(again.header('Idempotency-Replayed')).toBe('true');
        }
        expect(await kit.pets('Retried')).toBe(1);
        expect((await send(`${kit.service.url}/v1/pets/${idOf(first)}`, { key: kit.token })).text).toBe(
          first.text,
        );
      });

      test('gets the first response again even if the pet was changed or deleted since', async () => {
        const create = () => kit.create('changed', { name: 'Changed', categoryId: 1 });
        const first = await create();
        await kit.database.query(`UPDATE pets SET status = 'sold' WHERE id = ${idOf(first)}`);
        expect(seen(await create())).toEqual(seen(first));
        await kit.database.query(`DELETE FROM pets WHERE id = ${idOf(first)}`);
        expect(seen(await create())).toEqual(seen(first));
        expect(await kit.pets('Changed')).toBe(0);
      });

      test('may write the same content differently', async () => {
        const first = await kit.create('content', { name: 'Same', categoryId: 10 });
        expect(first.status).toBe(201);
        for (const body of [
          '{"categoryId":10,"name":"Same"}',
          '{ "name" : "S\\u0061me", "categoryId": 1e1, "status": "available" }',
          '{"name":" Same ","categoryId":10.0,"extra":1}',
        ]) {
          expect(seen(await kit.create('content', body))).toEqual(seen(first));
        }
      });

      test.each([
        ['another name', '{"name":"Other","categoryId":9007199254740993}'],
        ['another category that is equal as a double', '{"name":"A","categoryId":9007199254740992}'],
        ['another status', '{"name":"A","categoryId":9007199254740993,"status":"sold"}'],
      ])('with %s gets 422 and changes nothing', async (_name, body) => {
        const create = () => kit.create('reused', '{"name":"A","categoryId":9007199254740993}');
        const first = await create();
        expect(first.status).toBe(201);
        const before = await kit.pets();
        const response = await kit.create('reused', body);
        expect(response.status).toBe(422);
        expect(response.json).toEqual({ code: 'idempotency_key_reused', message: anyMessage, status: 422 });
        expect(await kit.pets()).toBe(before);
        expect(seen(await create())).toEqual(seen(first));
      });

      test('of a request with a refused body counts as a first request', async () => {
        expect((await kit.create('corrected', { name: 'Corrected' })).status).toBe(400);
        expect((await kit.create('corrected', '{')).status).toBe(400);
        expect(await kit.keys('corrected')).toBe(0);
        expect((await kit.create('corrected', { name: 'Corrected', categoryId: 1 })).status).toBe(201);
      });

      test('of a create that failed in the database creates the pet: the key is stored only with the pet', async () => {
        const create = () => kit.create('failing', { name: 'Failing', categoryId: 1 });
        await kit.database.query(`ALTER TABLE pets ADD CONSTRAINT odd CHECK (name <> 'Failing')`);
        expect((await create()).status).toBe(500);
        expect(await kit.keys('failing')).toBe(0);
        await kit.database.query('ALTER TABLE pets DROP CONSTRAINT odd');
        expect((await create()).status).toBe(201);
        expect(await kit.pets('Failing')).toBe(1);
      });

      test('sent 50 times at once creates one pet: every response is that pet, or 409 with Retry-After', async () => {
        const responses = await Promise.all(
          Array.from({ length: 50 }, () => kit.create('at-once', { name: 'At once', categoryId: 1 })),
        );
        const created = responses.filter(({ status }) => status === 201);
        const refused = responses.filter(({ status }) => status === 409);
        expect(created.length).toBeGreaterThan(0);
        // PGlite blocks the event loop, so its creates do not always overlap.
        expect(name === 'PGlite' || refused.length > 0).toBe(true);
        expect(created.length + refused.length).toBe(50);
        expect(new Set(created.map(({ text }) => text)).size).toBe(1);
        for (const response of refused) {
          expect(response.json).toEqual({ code: 'idempotency_key_in_use', message: anyMessage, status: 409 });
          expect(response.header('Retry-After')).toBe('1');
        }
        expect(await kit.pets('At once')).toBe(1);
      });
    });

    describe('a key', () => {
      const keyIssue =
        'Idempotency-Key must be given once, as 1 to 255 ASCII characters other than quotes and backslashes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".';

      test('is the same with and without quotes', async () => {
        const first = await kit.create('"with-or-without"', { name: 'Quoted', categoryId: 1 });
        expect(seen(await kit.create('with-or-without', { name: 'Quoted', categoryId: 1 }))).toEqual(
          seen(first),
        );
        expect(await kit.keys('with-or-without')).toBe(1);
      });

      test.each([
        ['of 255 characters', 'k'.repeat(255), 'k'.repeat(255)],
        ['with a space and a comma in quotes', '"a, b"', 'a, b'],
        ['that looks like SQL', "');DROP--", "'');DROP--"],
      ])('%s is accepted', async (_name, header, stored) => {
        expect((await kit.create(header, { name: 'Taken', categoryId: 1 })).status).toBe(201);
        expect(await kit.keys(stored)).toBe(1);
      });

      test.each([
        ['is empty', ''],
        ['has 256 characters', 'k'.repeat(256)],
        ['has no closing quote', '"abc'],
        ['has an escaped quote', '"a\\"b"'],
        ['has parameters', '"abc";a=1'],
        ['is a list', '"abc", "def"'],
        ['has a space', 'abc def'],
        ['is not ASCII', 'käse'],
        ['is sent twice, even if both values are equal,', '"a"\r\nidempotency-key: "a"'],
      ])('that %s gets 400 with the reason, and nothing is stored', async (_name, header) => {
        const before = await kit.pets();
        const body = '{"name":"Refused","categoryId":1}';
        const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${kit.token}\r\nConnection: close`;
        const length = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
        const request = `${head}\r\n${length}\r\nIdempotency-Key: ${header}\r\n\r\n${body}`;
        const raw = await sendRaw(kit.service.port, Buffer.from(request, 'latin1'));
        expect(parseRaw(raw)).toMatchObject({
          status: 400,
          json: { code: 'invalid_request', message: keyIssue },
        });
        expect(await kit.pets()).toBe(before);
      });

      test('belongs to its caller: to the subject and the issuer of the token', async () => {
        const ids = [];
        const tokens = [serviceToken('others'), gatewayToken('key_1'), gatewayToken('tests')];
        for (const caller of [kit.token, ...tokens]) {
          const response = await kit.create('mine', { name: `Of ${ids.length}`, categoryId: 1 }, { caller });
          expect(response.status).toBe(201);
          ids.push(idOf(response));
        }
        expect(new Set(ids).size).toBe(4);
        expect(await kit.keys('mine')).toBe(4);
      });

      test('is ignored by other requests, and a create without one stores none', async () => {
        const headers = { 'idempotency-key': '""' };
        expect((await send(`${kit.service.url}/v1/pets`, { key: kit.token, headers })).status).toBe(200);
        const rows = () => kit.database.query('SELECT * FROM idempotency_keys');
        const before = (await rows()).length;
        const body = { name: 'Plain', categoryId: 1 };
        expect((await postJson(`${kit.service.url}/v1/pets`, kit.token, body)).status).toBe(201);
        expect(await rows()).toHaveLength(before);
      });
    });

    describe('after 24 hours', () => {
      test('a key creates a new pet and belongs to it from then on, but not 10 s earlier', async () => {
        const body = { name: 'Long ago', categoryId: 1 };
        const first = await kit.create('day', body);
        await kit.age('day', '23 hours 59 minutes 50 seconds');
        expect(seen(await kit.create('day', body))).toEqual(seen(first));
        await kit.age('day', '24 hours');
        const second = await kit.create('day', { name: 'Today', categoryId: 2 });
        expect(second.status).toBe(201);
        expect(idOf(second)).not.toBe(idOf(first));
        expect(seen(await kit.create('day', { name: 'Today', categoryId: 2 }))).toEqual(seen(second));
        expect((await kit.create('day', body)).status).toBe(422);
        expect([await kit.pets('Long ago'), await kit.pets('Today'), await kit.keys('day')]).toEqual([
          1, 1, 1,
        ]);
      });

      test('keys are deleted in batches, and younger ones stay', async () => {
        await kit.create('young', { name: 'Young', categoryId: 1 });
        await kit.addExpiredKeys('a', 25);
        expect(await kit.service.store.deleteExpiredKeys(10)).toBe(10);
        expect(await kit.expiredKeys()).toHaveLength(15);
        expect(await kit.service.store.deleteExpiredKeys(100)).toBe(15);
        expect(await kit.service.store.deleteExpiredKeys(100)).toBe(0);
        expect(await kit.keys('young')).toBe(1);
      });
    });
  });
