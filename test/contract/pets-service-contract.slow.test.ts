import { PGlite } from '@electric-sql/pglite';
import { Validator } from '@seriousme/openapi-schema-validator';
import { PrismaPGlite } from 'pglite-prisma-adapter';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorCodes } from '../../pets-service/errors.ts';
import { migrate } from '../../prisma/migrate.ts';
import { postJson, send } from '../support/http/http.ts';
import { servePets, serviceToken } from '../support/kits/pets-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { createContract, knownErrorCodes, type OpenApiDocument } from './openapi-contract.ts';

describe('the description of the pets service', () => {
  const token = serviceToken('contract');
  let document: OpenApiDocument;
  let contract: ReturnType<typeof createContract>;

  const database = shared(() => PGlite.create());
  const pets = shared(async () => {
    await migrate(new PrismaPGlite(database));
    return servePets(new PrismaPGlite(database));
  });
  const removed = shared(() => servePets(new PrismaPGlite(database), { now: () => Date.UTC(2030, 11, 5) }));
  beforeAll(async () => {
    document = (await send(`${pets.url}/openapi.json`)).json as OpenApiDocument;
    contract = createContract(document);
  });

  const get = async (operation: string, path: string) =>
    contract.check(operation, await send(pets.url + path, { key: token }));
  const create = async (body: unknown, headers: Record<string, string> = {}) =>
    contract.check('createPet', await postJson(`${pets.url}/v1/pets`, token, body, headers));

  test('is valid OpenAPI 3.1 and lists exactly the error codes of the service', async () => {
    expect(
      await new Validator().validate(structuredClone(document) as object as Record<string, unknown>),
    ).toEqual({ valid: true });
    expect(knownErrorCodes(document).toSorted()).toEqual([...errorCodes].toSorted());
  });

  test('holds for pets: created, replayed, listed with and without a next page, fetched', async () => {
    for (let index = 0; index < 3; index += 1) await create({ name: 'Rex', categoryId: 2 ** 53 });
    await create({ name: 'Mia', categoryId: 1 }, { 'idempotency-key': '"1"' });
    await create({ name: 'Mia', categoryId: 1 }, { 'idempotency-key': '"1"' });
    await create({ name: 'Rex', categoryId: 1 }, { 'idempotency-key': '"1"' });
    await get('listPets', '/v1/pets');
    await get('listPets', '/v1/pets?limit=2');
    await get('getPet', '/v1/pets/1');
  });

  test('holds for refused requests', async () => {
    await create({ name: 1 });
    await create('x'.repeat(1_100_000));
    await create('{}', { 'content-type': 'text/plain' });
    await get('listPets', '/v1/pets?limit=0');
    await get('getPet', '/v1/pets/999');
    contract.check('getPet', await send(`${removed.url}/v1/pets/1`, { key: token }));
    for (const [operation, method, path] of [
      ['listPets', 'GET', '/v1/pets'],
      ['createPet', 'POST', '/v1/pets'],
      ['getPet', 'GET', '/v1/pets/1'],
    ] as const) {
      contract.check(operation, await send(pets.url + path, { method }));
    }
  });

  test('holds for what needs no token', async () => {
    contract.check('getLiveness', await send(`${pets.url}/livez`));
    contract.check('getReadiness', await send(`${pets.url}/readyz`));
    contract.check('getDescription', await send(`${pets.url}/openapi.json`));
    const metrics = await send(`${pets.url}/metrics`);
    expect([metrics.status, metrics.header('Content-Type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
  });

  test('names no other response, except of a database that is down and of bugs', () => {
    // 409 needs two requests at once, and test/pets-service/idempotency.test.ts has them.
    const others = /^createPet 409$| 500$| 503$|^getMetrics /;
    expect(contract.unseen().filter((response) => !others.test(response))).toEqual([]);
  });
});
