import { describe, expect, test } from 'vitest';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';

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
