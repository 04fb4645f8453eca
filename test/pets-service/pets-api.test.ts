import { describe, expect, test } from 'vitest';
import { addDemoPets } from '../../prisma/demo-pets.ts';
import { migrate } from '../../prisma/migrate.ts';
import { postJson, send, sendRaw, type ClientResponse } from '../support/http/http.ts';
import { petsDatabases, servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { shared } from '../support/kits/shared.ts';

for (const { name, open, tags } of petsDatabases)
  describe(`the pets service on ${name}`, { tags }, () => {
    const token = serviceToken('tests');
    let clock = Date.now;
    const database = shared(open);
    const service = shared(async () => {
      expect(await migrate(database.adapter())).toEqual([
        '20261121000000_create_pets',
        '20261121080000_create_idempotency_keys',
      ]);
      expect(await migrate(database.adapter())).toEqual([]);
      return servePets(database.adapter(), { now: () => clock() });
    });

    const get = (path: string, headers?: Record<string, string>) =>
      send(`${service.url}${path}`, { key: token, ...(headers === undefined ? {} : { headers }) });
    const create = (body: unknown) => postJson(`${service.url}/v1/pets`, token, body);
    const anyMessage: unknown = expect.any(String);

    function expectError(
      response: ClientResponse,
      status: number,
      code: string,
      message: unknown = anyMessage,
    ): void {
      expect(response.status).toBe(status);
      expect(response.json).toEqual({ code, message, status });
      expect(response.header('Content-Type')).toBe('application/json; charset=utf-8');
    }

    test('demo pets are added to an empty database, once', async () => {
      expect(await addDemoPets(database.adapter())).toBe(5);
      expect(await addDemoPets(database.adapter())).toBe(0);
    });

    describe('createPet', () => {
      test('stores the pet and returns its Location', async () => {
        const response = await create({ name: 'Rex', categoryId: 7, status: 'pending' });
        expect(response.status).toBe(201);
        const { id } = response.json as { id: number };
        expect(response.json).toEqual({ id, name: 'Rex', categoryId: 7, status: 'pending' });
        expect(response.header('Location')).toBe(`/v1/pets/${id}`);
        expect((await get(`/v1/pets/${id}`)).json).toEqual(response.json);
      });

      test.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '0'])(
        'the 64-bit integer %s is returned exactly',
        async (categoryId) => {
          const created = await create(`{"name":"Big","categoryId":${categoryId}}`);
          expect(created.status).toBe(201);
          expect(created.text).toContain(`"categoryId":${categoryId},`);
          expect((await get(created.header('Location') ?? '')).text).toBe(created.text);
        },
      );

      test('an invalid body is refused with the reasons', async () => {
        const reasons = 'name is required; categoryId is required.';
        expectError(await create({}), 400, 'invalid_request', reasons);
      });

      test.each(['{', '{"name": undefined}'])('%s is not JSON', async (body) => {
        expectError(await create(body), 400, 'invalid_json');
      });

      test.each<[headers: Record<string, string>, code?: string, body?: string]>([
        [{}, 'unsupported_media_type'],
        [{ 'content-type': 'text/plain' }, 'unsupported_media_type'],
        [{ 'content-type': 'application/json; charset=latin1' }, 'unsupported_media_type'],
        [{ 'content-type': 'application/json', 'content-encoding': 'gzip' }, 'unsupported_media_type', 'x'],
        [{ 'content-type': 'application/json' }, 'invalid_request', ''],
        [{ 'content-type': 'Application/JSON ; charset="UTF-8"' }],
      ])('a body with %j: %s', async (headers, code, body = '{"name":"a","categoryId":1}') => {
        const response = await send(`${service.url}/v1/pets`, { method: 'POST', key: token, headers, body });
        const refused = { unsupported_media_type: 415, invalid_request: 400 }[code ?? ''];
        expect([response.status, (response.json as { code?: string }).code]).toEqual([refused ?? 201, code]);
      });

      test('a body over 1 MiB gets 413', async () => {
        expectError(await create(`{"name":"${'a'.repeat(1024 * 1024)}"}`), 413, 'payload_too_large');
      });
    });

    describe('listPets', () => {
      test('pages through all pets by id, with any limit and status', async () => {
        for (let index = 0; index < 30; index += 1) {
          await service.store.create({
            name: `p${index}`,
            categoryId: 77n,
            status: index % 3 === 0 ? 'sold' : 'available',
          });
        }
        for (const [query, limit] of [
          ['', 20],
          ['limit=7&colour=red&limit[]=5', 7],
          ['limit=100', 100],
          ['limit=4&status=sold', 4],
        ] as const) {
          const ids: number[] = [];
          let pages = 0;
          let path: string | undefined = `/v1/pets?${query}`;
          while (path !== undefined) {
            const response: ClientResponse = await get(path);
            expect(response.status).toBe(200);
            const pets = response.json as { id: number; status: string }[];
            expect(pets.every(({ status }) => status === 'sold' || !query.includes('sold'))).toBe(true);
            ids.push(...pets.map(({ id }) => id));
            pages += 1;
            path = /^<(\/v1\/pets\?[^>]+)>; rel="next"$/.exec(response.header('Link') ?? '')?.[1];
            expect(path === undefined || pets.length === limit).toBe(true);
          }
          const status = query.includes('sold') ? ('sold' as const) : undefined;
          const all = await service.store.list({ limit: 1000, status, afterId: undefined });
          expect(ids).toEqual(all.pets.map(({ id }) => Number(id)));
          expect(pages).toBe(Math.ceil(ids.length / limit));
        }
      });

      test('an invalid parameter is refused by its name', async () => {
        const reason = 'limit must be an integer from 1 to 100.';
        expectError(await get('/v1/pets?limit=0'), 400, 'invalid_request', reason);
      });
    });

    describe('getPet', () => {
      test.each(['abc', '01', '%31', '1%00'])('the id %s belongs to no pet', async (id) => {
        const response = await get(`/v1/pets/${id}`);
        expectError(response, 404, 'pet_not_found');
        expect(response.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      });

      test('sends its deprecation, sunset and successor in every response', async () => {
        for (const response of [await get('/v1/pets/1'), await get('/v1/pets/9223372036854775807')]) {
          expect(response.header('Deprecation')).toBe('@1764892800');
          expect(response.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
          expect(response.header('Link')).toBe(
            '</v1/pets>; rel="successor-version", </docs#versions-and-deprecations>; rel="deprecation"; type="text/html"',
          );
        }
      });

      test('works until the sunset and gets 410 from then on', async () => {
        clock = () => Date.UTC(2030, 11, 5) - 1;
        expect((await get('/v1/pets/1')).status).toBe(200);
        clock = () => Date.UTC(2030, 11, 5);
        expectError(await get('/v1/pets/1'), 410, 'endpoint_removed');
        expectError(await get('/v1/pets/abc'), 410, 'endpoint_removed');
        expect((await get('/v1/pets')).status).toBe(200);
        clock = Date.now;
      });

      test('is where Location points until the sunset, and from then on there is no Location', async () => {
        const body = { name: 'Rex', categoryId: 1 };
        const idempotencyKey = { 'idempotency-key': '"sunset"' };
        clock = () => Date.UTC(2030, 11, 5) - 1;
        const before = await postJson(`${service.url}/v1/pets`, token, body, idempotencyKey);
        const { id } = before.json as { id: number };
        expect(before.header('Location')).toBe(`/v1/pets/${id}`);
        clock = () => Date.UTC(2030, 11, 5);
        const repeated = await postJson(`${service.url}/v1/pets`, token, body, idempotencyKey);
        const created = await postJson(`${service.url}/v1/pets`, token, body);
        expect(repeated).toMatchObject({ status: 201, text: before.text });
        expect(created).toMatchObject({ status: 201, json: { name: 'Rex' } });
        for (const response of [repeated, created]) expect(response.header('Location')).toBeUndefined();
        clock = Date.now;
      });
    });

    describe('all paths', () => {
      test.each(['', 'Bearer x.y.z', `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token}, ${token}`])(
        'the credential %j is refused on every path',
        async (authorization) => {
          for (const path of ['/v1/pets', '/v1/pets/1', '/nothing']) {
            const response = await send(`${service.url}${path}`, { headers: { authorization } });
            expectError(response, 401, 'unauthorized');
            expect(response.header('WWW-Authenticate')).toBe('Bearer');
          }
        },
      );

      test.each(['/v1/pets/..%2f..%2freadyz', '/v1/pets/%2e%2e/%2e%2e/readyz', '/v1/pets/../../readyz'])(
        'a path that is not canonical leads nowhere: %s',
        async (path) => {
          const bytes = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`;
          expect(await sendRaw(service.port, bytes)).toMatch(/^HTTP\/1\.1 404 /);
        },
      );

      test('unknown paths and methods get errors in the Error shape', async () => {
        expectError(await get('/v1/dogs'), 404, 'not_found');
        expectError(await get('/v1/pets/'), 404, 'not_found');
        expectError(await get('/v1/PETS'), 404, 'not_found');
        const deleted = await send(`${service.url}/v1/pets`, { method: 'DELETE', key: token });
        expectError(deleted, 405, 'method_not_allowed');
        expect(deleted.header('Allow')).toBe('GET, HEAD, POST, OPTIONS');
        const options = await send(`${service.url}/v1/pets/1`, { method: 'OPTIONS', key: token });
        expect(options).toMatchObject({ status: 204, text: '' });
        expect(options.header('Allow')).toBe('GET, HEAD, OPTIONS');
        expectError(await get('/v1/pets/%E0%A4%A'), 404, 'pet_not_found');
      });

      test('HEAD is GET without the body', async () => {
        const response = await send(`${service.url}/v1/pets`, { method: 'HEAD', key: token });
        expect(response).toMatchObject({ status: 200, text: '' });
        expect(Number(response.header('Content-Length'))).toBeGreaterThan(100);
      });
    });
  });
