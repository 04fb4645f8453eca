import { expect, test } from 'vitest';
import { generateApiKey } from '../../../../../gateway/keys/api-key-format.ts';
import { knownMethod, safePath } from '../../../../../gateway/platform/observability/request-spans.ts';

const key = generateApiKey();

test.each([
  { path: '/v1/pets', route: '/v1/pets', recorded: '/v1/pets' },
  { path: '/v1/pets/17', route: '/v1/pets/{petId}', recorded: '/v1/pets/17' },
  { path: `/v1/pets/${key}`, route: '/v1/pets/{petId}', recorded: '/v1/pets/REDACTED' },
  { path: '/v1/pets/12345678901234567890', route: '/v1/pets/{petId}', recorded: '/v1/pets/REDACTED' },
  {
    path: `/v1/pets/${encodeURIComponent(`é${key}`)}`,
    route: '/v1/pets/{petId}',
    recorded: '/v1/pets/REDACTED',
  },
  { path: `/${key}/a/b`, route: undefined, recorded: '/REDACTED' },
  { path: '*', route: '*', recorded: '*' },
])('the path $path of the route $route is recorded as $recorded', ({ path, route, recorded }) => {
  expect(safePath(path, route)).toBe(recorded);
});

test('a method that a client invented is recorded as _OTHER', () => {
  expect(['GET', 'PATCH', 'HUSHHUSH', undefined].map((method) => knownMethod(method))).toEqual([
    'GET',
    'PATCH',
    '_OTHER',
    '_OTHER',
  ]);
});
