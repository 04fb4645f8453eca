import { describe, expect, test } from 'vitest';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';
import { petsDescription, petsServiceName } from '../../../../gateway/upstream/pets-service.ts';

const text = `openapi: 3.1.1
info: { title: Boxes, version: 1.0.0, description: Keeps boxes. }
x-error-codes: [box_full]
paths:
  /boxes/{box-id}:
    parameters:
      - { name: box-id, in: path, required: true, schema: { type: string } }
      - { name: X-Colour, in: header }
    get:
      operationId: getBox
      summary: Get a box
      responses:
        '200': { description: The box, headers: { X-Weight: { schema: { type: number } } }, content: { application/json: {}, text/csv: {} } }
        '303': { description: It moved, headers: { Location: {} } }
        '404': { $ref: '#/components/responses/NotFound' }
    delete:
      operationId: deleteBox
      summary: Delete a box
      responses:
        '202': { description: Later }
        '4XX': { description: Not, content: { text/plain: {} } }
  /boxes/mine:
    get:
      operationId: getMine
      summary: Get mine
      responses: { '200': { description: Mine, content: { image/*: {} } } }
  /shelves/{shelf}/{a.b$c}:
    parameters:
      - { name: shelf, in: path, required: true, schema: { type: integer } }
      - { name: a.b$c, in: path, required: true }
    get: { operationId: getPlace, summary: Get a place, responses: { '200': { description: It, content: { application/json: {} } } } }
components:
  responses:
    NotFound: { description: No box, content: { application/json: { schema: { $ref: '#/components/schemas/Error' } } } }
`;
const boxes = { name: 'boxes', description: { file: 'boxes.yaml', text } };
const api = loadApiDescription(undefined, [{ name: petsServiceName, description: petsDescription() }, boxes]);

test.each([
  ['/v1/pets', 'pets-service', '/v1/pets'],
  ['/v1/boxes/1', 'boxes', '/v1/boxes/{box-id}'],
  ['/v1/boxes/user@example.com', 'boxes', '/v1/boxes/{box-id}'],
  ['/v1/boxes/a%3Ab', 'boxes', '/v1/boxes/{box-id}'],
  ['/v1/boxes/mine', 'boxes', '/v1/boxes/mine'],
  ['/v1/shelves/1/x', 'boxes', '/v1/shelves/{shelf}/{a.b$c}'],
])('%s is a route of %s', (path, service, pattern) => {
  expect(api.match(path)).toMatchObject({ pattern, service: { name: service } });
});

test('header parameters of an operation pass, those of its path included', () => {
  const { requestHeaders = new Set() } = api.match('/v1/boxes/1')?.service?.operations['GET'] ?? {};
  expect(requestHeaders).toEqual(new Set(['x-colour']));
});

test('a description that is also for those who call the service directly is published without what is not the gateway’s', () => {
  const whole = text
    .replace('x-error-codes', 'security: [{ bearer: [] }]\nx-error-codes')
    .replace('get:', 'trace: {}\n    head: {}\n    options: {}\n    get:')
    .replace(
      'summary: Get a box',
      `summary: Get a box
      security: [{ bearer: [] }]
      servers: [{ url: 'http://10.0.0.1' }]
      callbacks: { later: {} }
      parameters:
        - { name: Authorization, in: header }
        - { name: session, in: cookie }`,
    )
    .replace("'200': {", "'401': { description: Who }\n        '200': {")
    .replace('headers: {', 'headers: { X-RateLimit-Limit: { description: Ours },')
    .replace('components:', 'components:\n  securitySchemes: { apiKey: { type: http, scheme: basic } }');
  const describedBy = (source: string) => {
    const file = { name: 'boxes', description: { file: 'boxes.yaml', text: source } };
    return JSON.parse(loadApiDescription(undefined, [file]).json) as {
      paths: Record<string, { get: { responses: object } }>;
    };
  };
  const expected = describedBy(text);
  const path = '/boxes/{box-id}';
  const { get, ...others } = expected.paths[path] ?? { get: { responses: {} } };
  const who = { description: 'Who', headers: expect.any(Object) as object };
  const published = { ...get, parameters: [], responses: { ...get.responses, 401: who } };
  expect(describedBy(whole)).toEqual({
    ...expected,
    paths: { ...expected.paths, [path]: { ...others, get: published } },
  });
});

describe('the merged description', () => {
  const document = JSON.parse(api.json) as {
    info: { title: string; description: string };
    paths: Record<string, Record<string, { responses: Record<string, { headers?: object; $ref?: string }> }>>;
    components: { schemas: { ErrorCode: { anyOf: { enum?: string[] }[] } }; responses: object };
  };

  test("has the gateway's responses and headers on each operation of a service", () => {
    const { responses } = document.paths['/boxes/{box-id}']?.['get'] ?? { responses: {} };
    const statuses = '200 303 400 401 403 404 408 413 417 429 431 500 502 503 504';
    expect(Object.keys(responses).join(' ')).toBe(statuses);
    expect(responses['429']).toEqual({ $ref: '#/components/responses/TooManyRequests' });
    expect(Object.keys(responses['200']?.headers ?? {})).toEqual(
      expect.arrayContaining(['X-RateLimit-Limit', 'RateLimit', 'X-Request-Id', 'X-Weight']),
    );
    expect(api.match('/v1/boxes/1')?.allow).toEqual(['GET', 'HEAD', 'DELETE', 'OPTIONS']);
  });

  test('has title and text of the services, and the error codes of all', () => {
    expect(document.info.title).toBe('Animal Store API');
    expect(document.info.description).toMatch(/^Lists, adds [^]*\n\nKeeps boxes\.\n\n\*\*Keys/);
    expect(document.components.schemas.ErrorCode.anyOf[0]?.enum).toEqual(
      expect.arrayContaining(['missing_api_key', 'pet_not_found', 'box_full', 'invalid_request']),
    );
  });
});

test('aliases of aliases without measure are an issue of the file', () => {
  const lines = Array.from({ length: 6 }, (_, level) =>
    level === 0 ? 'x-0: &a0 [x]' : `x-${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
  );
  const description = { file: 'bomb.yaml', text: `${text}${lines.join('\n')}\n` };
  expect(() => loadApiDescription(undefined, [{ name: 'bomb', description }])).toThrow(
    "bomb.yaml can't be read (Excessive alias count",
  );
});

test('the header that may hold the key is a second scheme of each operation', () => {
  const scope = 'summary: Get mine\n      security: [{ apiKey: [boxes:mine] }]';
  const scoped = text.replace('summary: Get mine', scope);
  const services = [{ name: 'boxes', description: { file: 'boxes.yaml', text: scoped } }];
  const { jsonAt } = loadApiDescription(undefined, services, { keyHeader: 'X-API-Key' });
  const document: unknown = JSON.parse(jsonAt('http://localhost'));
  expect(document).toMatchObject({
    security: [{ apiKey: [] }, { keyHeader: [] }],
    paths: {
      '/boxes/mine': { get: { security: [{ apiKey: ['boxes:mine'] }, { keyHeader: ['boxes:mine'] }] } },
    },
    components: { securitySchemes: { keyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' } } },
  });
});
