import { describe, expect, test } from 'vitest';
import { loadApiDescription } from '../../../gateway/api-description.ts';

const api = loadApiDescription();

/** What passes of each operation is tested beside describe-services.ts. */
const service = { name: 'pets-service', ordinal: 0, operations: expect.anything() as unknown };
const pets = { pattern: '/v1/pets', allow: ['GET', 'HEAD', 'POST', 'OPTIONS'], service };
const pet = { pattern: '/v1/pets/{petId}', allow: ['GET', 'HEAD', 'OPTIONS'], service };
const openapiJson = { pattern: '/openapi.json', allow: ['GET', 'HEAD', 'OPTIONS'] };

test.each([
  ['/v1/pets', pets],
  ['/v1/pets/1', pet],
  ['/v1/pets/abc', pet],
  ['/v1/pets/-1', pet],
  ['/v1/pets/1.0', pet],
  ['/v1/pets/...', pet],
  ['/openapi.json', openapiJson],
])('%s is a route', (path, route) => {
  expect(api.match(path)).toEqual(route);
});

test.each([
  '/',
  '/v1',
  '/v1/',
  '/pets',
  '/v1/pets/',
  '/v1/pets/1/',
  '/v1/pets/1/2',
  '/v1//pets',
  '//v1/pets',
  '/v1/./pets',
  '/V1/pets',
  '/v1/Pets',
  '/v1/petsandmore',
  '/v1/p%65ts',
  '/v1/pets/%31',
  '/v1/pets/1%2F2',
  '/v1/pets/..%2f..%2freadyz',
  '/v1/pets/%2e%2e',
  '/v1/pets/.',
  '/v1/pets/..',
  '/v1/pets/..;',
  '/v1/pets/..\\',
  '/v1/pets/1;x',
  '/v1/pets/1\n',
  '/v1/pets/\u00e4',
  '/v2/pets',
  '/x/v1/pets',
  '/openapijson',
  '/v1/openapi.json',
  '*',
  '',
])('%j is not a route', (path) => {
  expect(api.match(path)).toBeUndefined();
});

describe('the OpenAPI document', () => {
  test('has all operations under /v1', () => {
    expect(api.basePath).toBe('/v1');
  });

  test('has its keys in the conventional order', () => {
    expect(Object.keys(JSON.parse(api.json) as object)).toEqual([
      'openapi',
      'info',
      'servers',
      'tags',
      'security',
      'paths',
      'components',
    ]);
  });

  test('is JSON with the version and the paths of the specification', () => {
    expect(JSON.parse(api.json)).toMatchObject({
      openapi: '3.1.1',
      info: { version: '1.0.0' },
      servers: [{ url: '/v1' }],
      paths: {
        '/pets': { get: { operationId: 'listPets' }, post: { operationId: 'createPet' } },
        '/pets/{petId}': { get: { operationId: 'getPet', deprecated: true } },
      },
    });
  });
});
