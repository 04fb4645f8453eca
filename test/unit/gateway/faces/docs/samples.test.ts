import { expect, test } from 'vitest';
import { createSamples } from '../../../../../gateway/faces/docs/samples.ts';
import { loadApiDescription } from '../../../../../gateway/upstream/api-description.ts';
import { readApiDocument, type Operation } from '../../../../../gateway/upstream/api-document.ts';

/** An operation with everything that samples show. */
function operationWith(body: unknown): Operation {
  const document = {
    info: { title: 'An API', version: '1.0.0' },
    paths: {
      '/things/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        post: {
          operationId: 'change',
          summary: 'Change',
          parameters: [{ $ref: '#/components/parameters/Key' }],
          requestBody: { content: { 'application/json': { example: body } } },
          responses: {},
        },
      },
    },
    components: {
      parameters: { Key: { name: 'Key', in: 'header', schema: { type: 'string' }, example: '"a"' } },
    },
  };
  const [operation] = readApiDocument(JSON.stringify(document), '/v1').operations;
  if (operation === undefined) throw new Error('there is no operation');
  return operation;
}

const curlFor = (body: unknown) =>
  createSamples(operationWith(body), 'ANIMAL_STORE_KEY').find(({ language }) => language === 'curl')?.code;

test('parameters of the path and of the operation are filled in, and references followed', () => {
  expect(curlFor({ a: 1 })).toBe(String.raw`curl --include 'http://localhost:8080/v1/things/1' \
  --header "Authorization: Bearer $ANIMAL_STORE_KEY" \
  --header 'Content-Type: application/json' \
  --header 'Key: "a"' \
  --data '{"a":1}'`);
});

test('an Idempotency-Key is another one each time that a sample runs', () => {
  const operation = readApiDocument(loadApiDescription().json, '/v1').operations.find(
    ({ operationId }) => operationId === 'createPet',
  );
  if (operation === undefined) throw new Error('there is no createPet');
  const samples = createSamples(operation, 'ANIMAL_STORE_KEY');
  const lines = samples.map(({ code }) => /^.*Idempotency-Key.*$/m.exec(code)?.[0]);
  expect(lines).toEqual([
    String.raw`  --header "Idempotency-Key: \"$(openssl rand -hex 16)\"" \ `.trimEnd(),
    '    \'Idempotency-Key\': `"${crypto.randomUUID()}"`,',
    `        "Idempotency-Key": f'"{uuid.uuid4()}"',`,
  ]);
});

test('an apostrophe does not end the argument of the shell', () => {
  expect(curlFor({ name: "O'Hara" })).toContain(String.raw`--data '{"name":"O'\''Hara"}'`);
});
